// What goes on beside an execution and fails is nobody's to catch: it must not end the process.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setImmediate as immediately } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Clock, systemClock } from "../../../src/core/clock.js";
import type { Log, ProviderContext } from "../../../src/core/provider.js";
import type { AgentSession } from "../../../src/providers/acp/agent-session.js";
import { SessionPool } from "../../../src/providers/acp/session-pool.js";
import { resolveSettings } from "../../../src/providers/acp/settings.js";
import { Terminals } from "../../../src/providers/acp/terminals.js";
import { Turn } from "../../../src/providers/acp/turn.js";
import { openContainment } from "../../../src/providers/containment/containment.js";
import type { ContainedProcess, ProcessTree } from "../../../src/providers/containment/tree.js";
import { processesWith, until } from "../../support/processes.js";
import { SOURCE_ENV, sourceArgs } from "../../support/run-source.js";

const unhandled: unknown[] = [];
const logged: string[] = [];
const note = (fields: unknown, message: string): number => logged.push(`${message} ${JSON.stringify(fields)}`);
const log: Log = { debug: note, info: note, warn: note, error: note };
const take = (reason: unknown): number => unhandled.push(reason);

beforeEach(() => {
  logged.length = 0;
  process.on("unhandledRejection", take);
});

afterEach(async () => {
  await immediately();
  process.off("unhandledRejection", take);
  expect(unhandled.splice(0)).toEqual([]);
});

test("an agent that cannot be ended, after its turn was to stop, is logged", async () => {
  const abort = new AbortController();
  const after: Clock["after"] = (delayMs, run) => {
    if (delayMs < 10) run();
    return () => {};
  };
  const clock: Clock = { now: () => 0, after };
  const turn = new Turn({
    ...{ clock, callIds: new Map(), settings: resolveSettings({ command: "agent", limits: { interruptMs: 1 } }) },
    context: { signal: abort.signal, turn: 1, log } as unknown as ProviderContext,
    session: { isAlive: true, cancel() {}, prompt: () => new Promise(() => {}) } as unknown as AgentSession,
    endAgent: () => Promise.reject(new Error("not ended")),
  });
  void turn.run([]);
  abort.abort();
  await until("it is logged", () => logged.join().includes("the agent was not stopped"));
});

test("a terminal whose output breaks off goes on to its end", async () => {
  const stdout = new PassThrough();
  const exited = Promise.withResolvers<{ code: number; signal: undefined }>();
  const process = {
    ...{ pid: 1, stdin: new PassThrough(), stdout, stderr: new PassThrough() },
    ...{ exited: exited.promise, end: async () => {} },
  } as unknown as ContainedProcess;
  const tree = { spawn: async () => process } as unknown as ProcessTree;
  const terminals = new Terminals(tree, { root: "/", resolve: async (path) => path }, { PATH: "/bin:/usr/bin" });
  const id = await terminals.create({ sessionId: "s", command: "true" });
  stdout.write("half");
  stdout.destroy(new Error("EIO"));
  await immediately();
  exited.resolve({ code: 3, signal: undefined });
  expect(await terminals.waitForExit(id)).toEqual({ exitCode: 3, signal: null });
});

test("an agent that ended by itself, and whose tree cannot be ended, is logged", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "unhandled-"));
  const args = sourceArgs(new URL("../../support/acp-agent.ts", import.meta.url));
  const settings = resolveSettings({ command: process.execPath, args, env: { ...SOURCE_ENV, UNHANDLED: dataDir } });
  const containment = await openContainment({ dataDir, mode: "marked", log });
  const createTree = (label: string): ProcessTree => {
    const tree = containment.createTree(label);
    const end: ProcessTree["end"] = async (limits) => {
      await tree.end(limits);
      throw new Error("not ended");
    };
    return { spawn: (command) => tree.spawn(command), end };
  };
  const options = { settings, containment: { ...containment, createTree }, dataDir, clock: systemClock, log };
  const pool = new SessionPool(options);
  const context = { execution: { id: "e", conversationId: "c" }, config: {}, signal: new AbortController().signal };
  await pool.acquire(context as unknown as ProviderContext);
  for (const pid of await processesWith(`UNHANDLED=${dataDir}`)) process.kill(Number(pid), "SIGKILL");
  await until("it is logged", () => logged.join().includes("something beside the executions failed"));
  await containment.close();
  await rm(dataDir, { recursive: true });
});
