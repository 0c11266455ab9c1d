import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { ConversationReader } from "./conversation-reader.js";
import { ExecutionLists } from "./execution-lists.js";
import { toFailure } from "./file-errors.js";
import { LogReader } from "./log-reader.js";
import type { FileSettings, NumberedAnswer, NumberedQuery, Query, ReaderReply, ReaderRequest } from "./messages.js";
import { openBeside } from "./open-file.js";
import { SideReader } from "./side-reader.js";

/**
 * The thread that reads a file, so that a long replay never delays a commit; it
 * also writes the log back, which no commit need wait for either.
 */
class Reader {
  readonly #port: MessagePort;
  readonly #db: Database;
  readonly #file: string;
  readonly #executions: ExecutionLists;
  readonly #log: LogReader;
  readonly #side: SideReader;
  readonly #conversations: ConversationReader;
  /** Reads in a transaction, so that all rows are of one moment. */
  readonly #transact: (query: Query) => unknown;

  constructor(port: MessagePort, db: Database, file: string) {
    this.#port = port;
    this.#db = db;
    this.#file = file;
    this.#executions = new ExecutionLists(db);
    this.#log = new LogReader(db);
    this.#side = new SideReader(db);
    this.#conversations = new ConversationReader(db);
    this.#transact = db.transaction((query: Query) => this.#read(query));
  }

  receive(request: Exclude<ReaderRequest, { kind: "open" }>): void {
    if (request.kind === "queries") this.#answerAll(request.queries);
    else if (request.kind === "checkpoint") this.#checkpoint();
    else this.#close();
  }

  /** Answers in one message, but for parts of logs: those are large, and each leaves as soon as it is there. */
  #answerAll(queries: readonly NumberedQuery[]): void {
    const answers: NumberedAnswer[] = [];
    for (const [id, query] of queries) {
      const answer = this.#answer(query);
      if (query.method === "read") this.#reply([[id, answer]], transferable(answer));
      else answers.push([id, answer]);
    }
    if (answers.length > 0) this.#reply(answers);
  }

  #answer(query: Query): NumberedAnswer[1] {
    try {
      return { value: this.#transact(query) };
    } catch (error) {
      return { failure: toFailure(this.#file, error) };
    }
  }

  #reply(answers: readonly NumberedAnswer[], buffers: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage({ kind: "answers", answers } satisfies ReaderReply, buffers);
  }

  #read(query: Query): unknown {
    switch (query.method) {
      case "read":
        return this.#log.read(query.key, query.after, query.maxBytes);
      case "getExecution":
        return this.#executions.get(query.key);
      case "listExecutions":
        return this.#executions.list(query.query, query.position);
      case "listUnfinished":
        return this.#executions.unfinished();
      case "getConversation":
        return this.#conversations.get(query.tenantId, query.id);
      case "listConversations":
        return this.#conversations.list(query.query, query.position);
      case "findIdempotent":
        return this.#conversations.findIdempotent(query.tenantId, query.scope);
      default:
        return this.#readSide(query);
    }
  }

  #readSide(query: SideQuery): unknown {
    switch (query.method) {
      case "getAction":
        return this.#side.action(query.key, query.id);
      case "listActions":
        return this.#side.listActions(query.query, query.position);
      case "getAnswer":
        return this.#side.answer(query.key, query.id);
      case "getInput":
        return this.#side.input(query.key, query.id);
      case "getSideRows":
        return this.#side.all(query.key);
      case "getArtifact":
        return this.#side.artifact(query.key, query.id);
      case "listArtifacts":
        return this.#side.listArtifacts(query.key, query.query, query.position);
    }
  }

  /** Writes the log back as far as it can while commits go on; the writer sees to what is left. */
  #checkpoint(): void {
    try {
      this.#db.pragma("wal_checkpoint(PASSIVE)");
    } catch {
      // A full disk, say: the log keeps everything, and the next commit finds out.
    }
    this.#port.postMessage({ kind: "checkpointed" } satisfies ReaderReply);
  }

  #close(): void {
    this.#db.close();
    this.#port.postMessage({ kind: "closed" } satisfies ReaderReply);
    this.#port.close();
  }
}

type SideQuery = Extract<
  Query,
  {
    readonly method:
      | "getAction"
      | "listActions"
      | "getAnswer"
      | "getInput"
      | "getSideRows"
      | "getArtifact"
      | "listArtifacts";
  }
>;

/** The buffers of a log's chunks, which go to the other thread without a copy. */
function transferable(answer: NumberedAnswer[1]): ArrayBuffer[] {
  if (!("value" in answer) || answer.value === undefined) return [];
  const { chunks } = answer.value as { readonly chunks: readonly { readonly bytes: Uint8Array<ArrayBuffer> }[] };
  return chunks
    .map(({ bytes }) => bytes)
    .filter(isAlone)
    .map(({ buffer }) => buffer);
}

function isAlone(bytes: Uint8Array<ArrayBuffer>): boolean {
  return bytes.byteLength === bytes.buffer.byteLength;
}

function start(port: MessagePort, settings: FileSettings): void {
  let reader: Reader | undefined;
  port.on("message", (request: ReaderRequest) => {
    if (request.kind !== "open") {
      reader?.receive(request);
      return;
    }
    try {
      reader = new Reader(port, openBeside(settings), settings.file);
      port.postMessage({ kind: "opened" } satisfies ReaderReply);
    } catch (error) {
      port.postMessage({ kind: "failed", failure: toFailure(settings.file, error) } satisfies ReaderReply);
      port.close();
    }
  });
}

if (parentPort === null) throw new Error("not a worker thread");
start(parentPort, workerData as FileSettings);
