import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { type ClientConnection, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import type { Store } from "../src/core/store.js";
import { acpProvider } from "../src/providers/acp/provider.js";
import { openMemoryStore } from "../src/store/memory.js";
import { openSqliteStore } from "../src/store/sqlite.js";
import { openLiveRuntime } from "../test/support/live-runtime.js";
import { sourceArgs } from "../test/support/run-source.js";
import { at, type Line, median, round } from "./report.js";

/** Starts and cancels take most of a second each, so few of them; the agent answers a prompt of one word at once. */
const STARTS = 7;
const PROMPTS = 300;
const FLOODS = 5;
const LIMIT_PROMPT_MS = 10;

const args = sourceArgs(new URL("../test/support/acp-agent.ts", import.meta.url));
const WORD = "hello";
const FLOOD = JSON.stringify([{ flood: 10_000 }]);
const HANG = JSON.stringify([{ text: "x" }, { hang: true }]);

/** Milliseconds of each round. */
interface Times {
  readonly start: readonly number[];
  readonly prompt: readonly number[];
  readonly flood: readonly number[];
  readonly cancel: readonly number[];
}

/**
 * What the ACP provider and the runtime behind it add to driving the same agent
 * with the bare SDK: an execution for each prompt, kept in memory, and kept on
 * disk as by default, with what the disk then takes. The agent does as it is
 * told at once, so that nothing but the two ways is measured.
 */
export async function benchAcp(): Promise<Line[]> {
  const root = await mkdtemp(join(tmpdir(), "bench-acp-"));
  const bare = await measureBare(root);
  const provider = await measureProvider(root, openMemoryStore());
  const durable = await measureProvider(root, await openSqliteStore({ dataDir: join(root, "store") }));
  await rm(root, { recursive: true, force: true });
  const line = (name: string, key: keyof Times, target?: Line["target"]): Line => ({
    name,
    figures: {
      bare: `${round(median(bare[key]))} ms`,
      provider: `${round(median(provider[key]))} ms`,
      added: `${round(median(provider[key]) - median(bare[key]))} ms`,
      p95: `${round(at(provider[key], 0.95))} ms`,
      "on disk": `${round(median(durable[key]))} ms`,
    },
    ...(target === undefined ? {} : { target }),
  });
  const added = median(provider.prompt) - median(bare.prompt);
  return [
    line("a prompt of one word", "prompt", [`< ${LIMIT_PROMPT_MS} ms added`, added < LIMIT_PROMPT_MS]),
    line("a prompt of 10,000 deltas", "flood"),
    line("start to the first prompt", "start"),
    // Bare, it is the agent's answer; with the provider, that nothing of it is left.
    line("cancel", "cancel"),
  ];
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await run();
  return performance.now() - startMs;
}

async function repeat(count: number, run: () => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) times.push(await run());
  return times;
}

async function measureBare(cwd: string): Promise<Times> {
  const start = await repeat(STARTS, async () => {
    const startMs = performance.now();
    const bare = await openBare(cwd);
    const tookMs = performance.now() - startMs;
    await bare.close();
    return tookMs;
  });
  const bare = await openBare(cwd);
  await repeat(30, () => timed(() => bare.prompt(WORD)));
  const prompt = await repeat(PROMPTS, () => timed(() => bare.prompt(WORD)));
  const flood = await repeat(FLOODS, () => timed(() => bare.prompt(FLOOD)));
  const cancel = await repeat(STARTS, async () => {
    const said = bare.nextUpdate();
    const answered = bare.prompt(HANG);
    await said;
    return timed(async () => {
      await bare.connection.agent.notify(methods.agent.session.cancel, { sessionId: bare.sessionId });
      await answered;
    });
  });
  await bare.close();
  return { start, prompt, flood, cancel };
}

interface Bare {
  readonly connection: ClientConnection;
  readonly sessionId: string;
  prompt(text: string): Promise<void>;
  nextUpdate(): Promise<void>;
  close(): Promise<void>;
}

/** The agent with nothing but the SDK. */
async function openBare(cwd: string): Promise<Bare> {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"], cwd });
  let updated: () => void = () => {};
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
  );
  const connection = client({ name: "bench" })
    .onNotification(methods.client.session.update, () => updated())
    .connect(stream);
  await connection.agent.request(methods.agent.initialize, { protocolVersion: 1 });
  const { sessionId } = await connection.agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
  return {
    ...{ connection, sessionId },
    async prompt(text) {
      await connection.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    },
    nextUpdate: () =>
      new Promise((resolve) => {
        updated = resolve;
      }),
    async close() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
    },
  };
}

async function measureProvider(root: string, store: Store): Promise<Times> {
  const provider = acpProvider({ id: "agent", command: process.execPath, args, cwd: root, loadSession: true });
  const live = await openLiveRuntime({ store, providers: [provider], dataDir: join(root, "data") });
  const start = await repeat(STARTS, async () => {
    const startMs = performance.now();
    const run = await live.start("agent", WORD);
    await run.until("the first prompt", () => run.all("providerEvent").length > 0);
    const tookMs = performance.now() - startMs;
    await run.end();
    return tookMs;
  });
  const { conversationId } = await live.start("agent", WORD);
  const run = async (text: string): Promise<void> => {
    await (await live.start("agent", text, { conversationId })).end();
  };
  await repeat(30, () => timed(() => run(WORD)));
  const prompt = await repeat(PROMPTS, () => timed(() => run(WORD)));
  const flood = await repeat(FLOODS, () => timed(() => run(FLOOD)));
  const cancel = await repeat(STARTS, async () => {
    const hanging = await live.start("agent", HANG);
    await hanging.until("text", () => hanging.text() !== "");
    return timed(async () => {
      await hanging.cancel();
      await hanging.end();
    });
  });
  await live.close();
  await store.close();
  return { start, prompt, flood, cancel };
}
