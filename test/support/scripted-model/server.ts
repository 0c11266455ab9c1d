import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Api, fields, type Json, type ModelRequest, READERS } from "./request.js";
import { nextTurn, type Step, sampleOf, type ToolCall, toolCallFor } from "./script.js";
import { type AnswerWriter, sendJson, WRITERS } from "./writers.js";

/** One request that reached the model. */
export interface ModelLogEntry {
  readonly api: Api;
  readonly steps: readonly Step[];
  readonly tools: readonly string[];
  /** The prompt's items, newest last. */
  readonly request: ModelRequest;
  /** What it called. */
  call: ToolCall | undefined;
  status: number;
  /** Whether the peer cut the answer short; undefined while it is open. */
  cut: boolean | undefined;
}

/**
 * A model that does what the prompt's script says, over the streaming APIs of
 * OpenAI (Chat Completions and Responses), Gemini and Anthropic:
 *
 *   @model text WORDS             a word a chunk
 *   @model think WORDS            reasoning
 *   @model slow MS N              N words, MS between them
 *   @model shell COMMAND          calls whatever shell tool is offered, so that a permission is asked for
 *   @model boxed COMMAND          the same, inside of the agent's sandbox
 *   @model write PATH :: CONTENT  calls whatever tool writes files
 *   @model read PATH              calls whatever tool reads files
 *   @model plan A | B | C         calls whatever tool keeps a plan
 *   @model tool NAME {json}       calls that tool
 *   @model mcp SUFFIX {json}      calls the tool whose name ends so
 *   @model hang                   a word, then nothing until the peer goes away
 *   @model freeze                 nothing at all
 *   @model drop                   half an answer, then the connection is cut
 *   @model error STATUS WORDS     an HTTP error
 *   @model rest MS                waits before it goes on
 */
export interface ScriptedModel {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly log: readonly ModelLogEntry[];
  /** Requests to anything that is no model's path. */
  readonly strays: readonly string[];
  close(): Promise<void>;
}

/** Starts a scripted model on loopback. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const log: ModelLogEntry[] = [];
  const strays: string[] = [];
  const server = createServer((request, response) => {
    serve(request, response, log, strays).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error) } });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${port}`, log, strays },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  log: ModelLogEntry[],
  strays: string[],
): Promise<void> {
  const path = decodeURIComponent(new URL(request.url ?? "/", "http://model").pathname);
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const body = fields(text === "" ? {} : JSON.parse(text));
  if (/:countTokens$|\/count_tokens$/.test(path)) {
    sendJson(response, 200, { totalTokens: 11, input_tokens: 11 });
    return;
  }
  if (request.method === "GET" && /\/models(\/|$)/.test(path)) {
    sendJson(response, 200, {
      object: "list",
      data: [{ id: "scripted", object: "model", created: 0, owned_by: "test" }],
      models: [],
    });
    return;
  }
  const target = targetOf(path, body);
  if (target === undefined || request.method !== "POST") {
    strays.push(`${request.method} ${path}`);
    sendJson(response, 404, { error: { message: `no such path: ${path}` } });
    return;
  }
  await answer(target, body, response, log);
}

interface Target {
  readonly api: Api;
  readonly model: string;
  readonly stream: boolean;
}

function targetOf(path: string, body: Json): Target | undefined {
  const [, geminiModel, method] = /\/models\/([^:]+):(\w+)$/.exec(path) ?? [];
  if (geminiModel !== undefined)
    return { api: "gemini", model: geminiModel, stream: method === "streamGenerateContent" };
  const ends: Readonly<Record<string, Api>> = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "anthropic",
  };
  const api = Object.entries(ends).find(([end]) => path.endsWith(end))?.[1];
  return api && { api, model: String(body["model"]), stream: body["stream"] === true };
}

async function answer(target: Target, body: Json, response: ServerResponse, log: ModelLogEntry[]): Promise<void> {
  const request = READERS[target.api](body);
  const steps = nextTurn(request);
  const tools = request.tools.map(({ name }) => name);
  const entry: ModelLogEntry = { api: target.api, steps, tools, request, call: undefined, status: 200, cut: undefined };
  log.push(entry);
  const gone = new Promise<void>((resolve) => {
    response.once("close", () => {
      entry.cut = !response.writableFinished;
      resolve();
    });
  });
  const stage: Stage = {
    request,
    entry,
    response,
    gone,
    writer: WRITERS[target.api]({ ...target, response }),
    begun: false,
  };
  for (const step of steps) {
    if (entry.cut !== undefined) return;
    await play(stage, step);
  }
  if (entry.cut !== undefined || response.writableEnded) return;
  begin(stage);
  stage.writer.end();
}

interface Stage {
  readonly request: ModelRequest;
  readonly entry: ModelLogEntry;
  readonly response: ServerResponse;
  readonly gone: Promise<void>;
  readonly writer: AnswerWriter;
  begun: boolean;
}

function begin(stage: Stage): AnswerWriter {
  if (!stage.begun) stage.writer.begin();
  stage.begun = true;
  return stage.writer;
}

const pause = (stage: Stage, ms: number): Promise<unknown> =>
  Promise.race([new Promise((resolve) => setTimeout(resolve, ms)), stage.gone]);

type Player = (stage: Stage, argument: string, step: Step) => Promise<void> | void;

const PLAYERS: Readonly<Record<string, Player>> = {
  rest: async (stage, ms) => void (await pause(stage, Number(ms))),
  freeze: (stage) => stage.gone,
  error(stage, argument) {
    const [, status = "500", message = ""] = /^(\d+)\s*(.*)$/.exec(argument) ?? [];
    stage.entry.status = Number(status);
    const error = {
      code: Number(status),
      message: message || "scripted error",
      type: "scripted_error",
      status: "SCRIPTED",
    };
    sendJson(stage.response, Number(status), { error });
  },
  json: (stage) => begin(stage).text(JSON.stringify(sampleOf(stage.request.schema ?? {}))),
  text(stage, argument) {
    for (const word of argument.replaceAll("\\n", "\n").match(/\S+\s*|\s+/g) ?? [argument]) begin(stage).text(word);
  },
  think: (stage, argument) => begin(stage).think(argument),
  async slow(stage, argument) {
    const [ms = 0, count = 0] = argument.split(/\s+/).map(Number);
    for (let word = 0; word < count && stage.entry.cut === undefined; word++) {
      begin(stage).text(`w${word} `);
      await pause(stage, ms);
    }
  },
  async hang(stage) {
    begin(stage).text("hanging ");
    await stage.gone;
  },
  async drop(stage) {
    begin(stage).text("half an ans");
    await pause(stage, 50);
    stage.response.destroy();
  },
};

async function play(stage: Stage, step: Step): Promise<void> {
  const player = PLAYERS[step.verb];
  if (player !== undefined) {
    await player(stage, step.argument, step);
    return;
  }
  const call = toolCallFor(step, stage.request);
  stage.entry.call = call;
  if (call === undefined) begin(stage).text(`no ${step.verb} tool among ${stage.entry.tools.join(", ")}`);
  else begin(stage).call(call);
}
