// An agent of the Agent Client Protocol that does what its prompt says, and misbehaves as its flags say. The prompt is a
// JSON list of steps (see STEPS below); any other text is echoed.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import {
  type AgentContext,
  agent,
  type ContentBlock,
  methods,
  ndJsonStream,
  type PromptResponse,
  RequestError,
  type StopReason,
} from "@agentclientprotocol/sdk";

const argv = process.argv.slice(2);
/** The value of `--name=value`; empty for `--name`; undefined where it is not given. */
function flag(name: string): string | undefined {
  const found = argv.find((argument) => argument === `--${name}` || argument.startsWith(`--${name}=`));
  return found === undefined ? undefined : found.slice(name.length + 3);
}

/** A method that is never answered. */
const silent = flag("silent");
if (flag("re-exec") !== undefined && process.env["ACP_AGENT_CHILD"] === undefined) {
  const [file = "", ...rest] = process.argv.slice(1);
  const child = spawn(process.execPath, [...process.execArgv, file, ...rest], {
    stdio: "inherit",
    env: { ...process.env, ACP_AGENT_CHILD: "1" },
  });
  child.once("exit", (code) => process.exit(code ?? 1));
  process.on("SIGTERM", () => {});
  await new Promise(() => {});
}
if (flag("exit") !== undefined) {
  process.stderr.write(`cannot start: api_key=${process.env["TEST_API_KEY"] ?? ""} is wrong\n`);
  process.exit(Number(flag("exit")));
}
if (flag("ignore-term") !== undefined) process.on("SIGTERM", () => {});
if (flag("stay") !== undefined) setInterval(() => {}, 60_000);
if (flag("greet") !== undefined) process.stdout.write("Welcome to the agent!\n\n{not json\n[1,2]\n");

interface Session {
  readonly prompts: string[];
  readonly mcpServers: unknown;
  mode: string;
  abort: AbortController | undefined;
}
const sessions = new Map<string, Session>();
const stateDir = process.env["ACP_AGENT_STATE"] ?? "";
/** The way to log in; without the flag none is needed. */
const login = flag("login") || "api-key";
let loggedIn = flag("login") === undefined;

const stateFile = (id: string): string => join(stateDir, `${id}.json`);
function saveSession(id: string, { prompts }: Session): void {
  if (stateDir === "" || stateDir === "/dev/null") return;
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(stateFile(id), JSON.stringify(prompts));
}
function loadPrompts(id: string): string[] {
  try {
    return JSON.parse(readFileSync(stateFile(id), "utf8")) as string[];
  } catch {
    throw RequestError.sessionNotFound(id);
  }
}
async function unlessSilent(method: string): Promise<void> {
  if (silent === method) await new Promise(() => {});
}
function mustBeLoggedIn(): void {
  if (!loggedIn) throw RequestError.authRequired();
}
const modes = { currentModeId: "ask", availableModes: ["ask", "code"].map((id) => ({ id, name: id })) };

/** What one step may use. */
interface Stage {
  readonly client: AgentContext;
  readonly sessionId: string;
  readonly session: Session;
  readonly signal: AbortSignal;
}

type Json = Readonly<Record<string, unknown>>;
const update = ({ client, sessionId }: Stage, fields: Json): Promise<void> =>
  client.notify<unknown>(methods.client.session.update, { sessionId, update: fields });
const say = (stage: Stage, text: string, more: Json = {}): Promise<void> =>
  update(stage, { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, ...more });
const raw = (message: unknown): boolean => process.stdout.write(`${JSON.stringify(message)}\n`);
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve())));
/** Runs a client call and says how it went. */
async function report(stage: Stage, call: Promise<unknown>): Promise<void> {
  const said = await call.then(
    (result) => JSON.stringify(result),
    (error: { code?: number; message?: string }) => `error ${error.code}: ${error.message}`,
  );
  await say(stage, `${said}\n`);
}

/** What each step does; it returns a reason, or the whole answer, where it ends the prompt. */
const STEPS: Readonly<Record<string, (stage: Stage, value: never) => Promise<unknown>>> = {
  text: (stage, text: string) => say(stage, text),
  think: (stage, text: string) =>
    update(stage, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } }),
  /** Any session update. */
  update: (stage, fields: Json) => update(stage, fields),
  /** As many words, with a pause before each. */
  async slow(stage, { words, ms }: { words: number; ms: number }) {
    for (let word = 0; word < words && !stage.signal.aborted; word++) {
      await pause(ms, stage.signal);
      await say(stage, `w${word} `);
    }
  },
  /** As many words, as fast as they can be written. */
  async flood(stage, words: number) {
    for (let word = 0; word < words; word++) await say(stage, `w${word} `);
  },
  async ask(stage, params: Json) {
    await report(stage, stage.client.request("session/request_permission", { sessionId: stage.sessionId, ...params }));
  },
  /** All at once; the answers are told in the order in which they come. */
  async ask_all(stage, all: readonly Json[]) {
    const asked = all.map((params) =>
      report(stage, stage.client.request("session/request_permission", { sessionId: stage.sessionId, ...params })),
    );
    await Promise.all(asked);
  },
  async elicit(stage, params: Json) {
    await report(stage, stage.client.request("elicitation/create", { sessionId: stage.sessionId, ...params }));
  },
  async read(stage, params: Json) {
    await report(stage, stage.client.request("fs/read_text_file", { sessionId: stage.sessionId, ...params }));
  },
  async write(stage, params: Json) {
    await report(stage, stage.client.request("fs/write_text_file", { sessionId: stage.sessionId, ...params }));
  },
  async terminal(stage, params: Json & { command: string; kill?: boolean }) {
    const { kill, ...request } = params;
    const made = stage.client.createTerminal({ sessionId: stage.sessionId, ...request });
    const terminal = await made.catch(async (error) => report(stage, Promise.reject(error)));
    if (!terminal) return;
    await update(stage, {
      ...{ sessionUpdate: "tool_call", toolCallId: "t", title: request.command, kind: "execute" },
      content: [{ type: "terminal", terminalId: terminal.id }],
    });
    if (kill) await terminal.kill();
    await report(stage, terminal.waitForExit());
    await report(stage, terminal.currentOutput());
    await update(stage, { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" });
    await terminal.release();
    await report(stage, terminal.currentOutput());
  },
  /** A shell command of the agent's own, in the background unless it is to be waited for. */
  async shell(_, { command, wait }: { command: string; wait?: boolean }) {
    const child = spawn("/bin/sh", ["-c", command], { stdio: "ignore", detached: true });
    if (wait) await new Promise((resolve) => child.once("exit", resolve));
    else child.unref();
  },
  /** Steps that only the first process of the session does. */
  async once(stage, steps: readonly Json[]) {
    if (stage.session.prompts.length > 1) return;
    for (const step of steps) await playStep(stage, step);
  },
  sleep: (stage, ms: number) => pause(ms, stage.signal),
  /** Until it is cancelled. */
  hang: (stage) => aborted(stage.signal),
  /** Until its end. */
  freeze: () => new Promise<never>(() => {}),
  async noise(_, text: string) {
    process.stdout.write(`${text}\n`);
  },
  /** The prompt's own answer, with so many bytes more than it needs. */
  big_answer: async (_, bytes: number) => ({ _meta: { text: "x".repeat(bytes) }, stopReason: "end_turn" }),
  /** A message of so many bytes. */
  async big(stage, { bytes, as }: { bytes: number; as: "update" | "request" | "garbage" }) {
    const text = "x".repeat(bytes);
    if (as === "garbage") await new Promise<unknown>((resolve) => process.stdout.write(`${text}\n`, resolve));
    else if (as === "update") await say(stage, text);
    else {
      const params = { sessionId: stage.sessionId, path: "big.txt", content: text };
      await report(stage, stage.client.request("fs/write_text_file", params));
    }
  },
  raw: async (_, message: Json) => void raw(message),
  async stderr(_, text: string) {
    process.stderr.write(text);
  },
  stop: async (_, reason: StopReason) => reason,
  async error(_, { code, message, data }: { code: number; message: string; data?: unknown }) {
    throw new RequestError(code, message, data);
  },
  async exit(_, code: number) {
    process.exit(code);
  },
  async kill() {
    process.kill(process.pid, "SIGKILL");
  },
  /** The MCP servers that it was given. */
  servers: (stage) => say(stage, JSON.stringify(stage.session.mcpServers)),
  /** What the agent knows: how many prompts the session had before, its mode, folder and variables. */
  async recall(stage) {
    const { session } = stage;
    const env = Object.keys(process.env).filter((name) => !name.startsWith("HARNESS_MARK_"));
    await say(
      stage,
      JSON.stringify({ before: session.prompts.slice(0, -1), mode: session.mode, cwd: process.cwd(), env }),
    );
  },
};

function parseSteps(text: string): readonly Json[] {
  try {
    const steps: unknown = JSON.parse(text);
    return Array.isArray(steps) ? steps : [{ text }];
  } catch {
    return [{ text }];
  }
}

const textIn = (prompt: readonly ContentBlock[]): string =>
  prompt.map((block) => (block.type === "text" ? block.text : JSON.stringify(block))).join("\n");

async function play(stage: Stage, text: string): Promise<PromptResponse> {
  for (const step of parseSteps(text.split("\n").at(-1) ?? "")) {
    const stop = await playStep(stage, step);
    if (stop !== undefined)
      return typeof stop === "string" ? { stopReason: stop as StopReason } : (stop as PromptResponse);
    if (stage.signal.aborted) return { stopReason: "cancelled" };
  }
  return { stopReason: "end_turn" };
}

async function playStep(stage: Stage, step: Json): Promise<unknown> {
  const [name = "", value] = Object.entries(step)[0] ?? [];
  const played = STEPS[name];
  if (played === undefined) throw RequestError.invalidParams(undefined, `there is no step ${name}`);
  return played(stage, value as never);
}

const app = agent({ name: "test-agent" })
  .onRequest(methods.agent.initialize, async () => {
    await unlessSilent("initialize");
    if (flag("refuse") !== undefined) throw RequestError.invalidParams(undefined, "no such version");
    return {
      protocolVersion: Number(flag("version") ?? 1),
      agentInfo: { name: "test-agent", version: "1.2.3" },
      agentCapabilities: {
        loadSession: flag("no-load") === undefined && flag("resume") === undefined,
        ...(flag("resume") === undefined ? {} : { sessionCapabilities: { resume: {} } }),
        promptCapabilities: { image: true, embeddedContext: flag("plain") === undefined },
        mcpCapabilities: { http: true },
      },
      authMethods: [{ id: login, name: "API key" }],
      _unknown: { of: "any kind" },
    };
  })
  .onRequest(methods.agent.authenticate, ({ params }) => {
    if (params.methodId !== login) throw RequestError.invalidParams();
    loggedIn = true;
    return {};
  })
  .onRequest(methods.agent.session.new, async ({ params, client }) => {
    await unlessSilent("session/new");
    mustBeLoggedIn();
    const id = `session-${randomUUID()}`;
    sessions.set(id, { prompts: [], mcpServers: params.mcpServers, mode: "ask", abort: undefined });
    const commands = { sessionUpdate: "available_commands_update", availableCommands: [] };
    void client.notify<unknown>(methods.client.session.update, { sessionId: id, update: commands });
    return { sessionId: id, modes };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    await unlessSilent("session/load");
    mustBeLoggedIn();
    const { sessionId } = params;
    const prompts = loadPrompts(sessionId);
    const session: Session = { prompts, mcpServers: params.mcpServers, mode: "ask", abort: undefined };
    sessions.set(sessionId, session);
    const stage: Stage = { client, sessionId, session, signal: new AbortController().signal };
    const replay = async (): Promise<void> => {
      for (const text of prompts) {
        await update(stage, { sessionUpdate: "user_message_chunk", content: { type: "text", text } });
        await say(stage, "replayed");
      }
    };
    // Some agents answer first.
    if (flag("late-replay") === undefined) await replay();
    else setTimeout(() => void replay(), 100);
    return { modes };
  })
  .onRequest(methods.agent.session.resume, ({ params: { sessionId, mcpServers } }) => {
    if (flag("resume") === undefined) throw RequestError.methodNotFound(methods.agent.session.resume);
    sessions.set(sessionId, { prompts: loadPrompts(sessionId), mcpServers, mode: "ask", abort: undefined });
    return { modes };
  })
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    const session = sessions.get(params.sessionId);
    if (session === undefined || !modes.availableModes.some(({ id }) => id === params.modeId)) {
      throw RequestError.invalidParams(undefined, "no such mode");
    }
    session.mode = params.modeId;
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId } = params;
    const session = sessions.get(sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(sessionId);
    if (session.abort !== undefined) throw RequestError.invalidRequest(undefined, "still at work on another prompt");
    const given = textIn(params.prompt);
    // Asked to go on, an agent does what it had not finished.
    const text = given.startsWith("You were interrupted") ? (session.prompts.at(-1) ?? "") : given;
    session.prompts.push(given);
    saveSession(sessionId, session);
    await unlessSilent("session/prompt");
    const abort = new AbortController();
    session.abort = abort;
    try {
      return await play({ client, sessionId, session, signal: abort.signal }, text);
    } finally {
      session.abort = undefined;
    }
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    if (silent !== "session/cancel") sessions.get(params.sessionId)?.abort?.abort();
  });

app.connect(
  ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>,
    { maxMessageBytes: 64 * 1024 * 1024 },
  ),
);
