import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { fieldsOf } from "./json.js";
import { type LineOrCut, splitLines } from "./lines.js";

/** What happens to messages beside the requests and responses that go to the connection. */
export interface MessageSink {
  /** A notification, in its order; it does not reach the connection. */
  notify(method: string, params: unknown): void;
  /** A line that is no message, such as a library's greeting. */
  noise(line: string): void;
  /** A message that was longer than the limit, and so was dropped. */
  dropped(method: string | undefined, sizeBytes: number): void;
  /** Resolves when more may come: the agent is not read until then. Undefined: now. */
  ready(): Promise<void> | undefined;
}

/**
 * Joins an agent's standard streams to a connection of the SDK: one JSON
 * message a line. Other than the SDK's own it stands what agents write: lines
 * that are not JSON are passed by, a line longer than `maxLineBytes` fails the
 * request that it belongs to and nothing else, and notifications are handed
 * over before the answer that follows them is.
 */
export function messageStream(stdin: Writable, stdout: Readable, maxLineBytes: number, sink: MessageSink): Stream {
  const send = async (message: unknown): Promise<void> => {
    if (stdin.writableEnded || stdin.destroyed) throw new Error("the agent's input is closed");
    if (!stdin.write(`${JSON.stringify(message)}\n`)) await drained(stdin);
  };
  const ignore = (text: string): void => {
    if (text.trim() !== "") sink.noise(text);
  };
  const receive = (line: LineOrCut, connection: ReadableStreamDefaultController<AnyMessage>): void => {
    if (line.sizeBytes > maxLineBytes) {
      dropLine(line, sink, connection, send);
      return;
    }
    const message = parseMessage(line.text);
    if (message === undefined) ignore(line.text);
    else if ("method" in message && !("id" in message)) sink.notify(message.method, message.params);
    else connection.enqueue(message);
  };
  return {
    readable: new ReadableStream<AnyMessage>({
      start(connection) {
        void (async () => {
          for await (const lines of splitLines(stdout, maxLineBytes)) {
            for (const line of lines) receive(line, connection);
            await sink.ready();
          }
          connection.close();
        })().catch((error) => connection.error(error));
      },
    }),
    writable: new WritableStream<AnyMessage>({ write: send }),
  };
}

/** Resolves when `stdin` takes more, or never will. */
async function drained(stdin: Writable): Promise<void> {
  const done = new AbortController();
  const events = ["drain", "close", "error"].map((name) => once(stdin, name, { signal: done.signal }));
  await Promise.race(events.map((event) => event.catch(() => {})));
  done.abort();
}

function parseMessage(line: string): AnyMessage | undefined {
  try {
    const message = fieldsOf(JSON.parse(line));
    if (typeof message["method"] !== "string" && !("id" in message)) return undefined;
    // Some agents leave it out; the connection would answer them with an error.
    return { ...message, jsonrpc: "2.0" } as AnyMessage;
  } catch {
    return undefined;
  }
}

/** Fails what a line belonged to of which only the beginning and the end are there. */
function dropLine(
  { text, end, sizeBytes }: LineOrCut,
  sink: MessageSink,
  connection: ReadableStreamDefaultController<AnyMessage>,
  send: (message: unknown) => Promise<void>,
): void {
  const method = scalarOf(text, "method");
  const id = scalarOf(text, "id") ?? lastScalarOf(end, "id");
  sink.dropped(typeof method === "string" ? method : undefined, sizeBytes);
  if (id === undefined) return;
  const error = { code: -32_603, message: `a message of ${sizeBytes} bytes is longer than is taken` };
  const answer = { jsonrpc: "2.0" as const, id, error };
  if (method === undefined) connection.enqueue(answer);
  else void send(answer).catch(() => {});
}

const SCALAR = String.raw`("(?:[^"\\]|\\.)*"|-?\d+)`;

/** Reads `name` of the outermost object, where it comes before any nested one. */
function scalarOf(beginning: string, name: string): string | number | undefined {
  const members = String.raw`^\s*\{(?:\s*"(?:[^"\\]|\\.)*"\s*:\s*${SCALAR.replace("(", "(?:")}\s*,)*?`;
  return parseScalar(new RegExp(String.raw`${members}\s*"${name}"\s*:\s*${SCALAR}\s*[,}]`).exec(beginning));
}

/** Reads `name` where it is the outermost object's last member. */
function lastScalarOf(end: string, name: string): string | number | undefined {
  return parseScalar(new RegExp(String.raw`"${name}"\s*:\s*${SCALAR}\s*\}\s*$`).exec(end));
}

function parseScalar(match: RegExpExecArray | null): string | number | undefined {
  return match?.[1] === undefined ? undefined : (JSON.parse(match[1]) as string | number);
}
