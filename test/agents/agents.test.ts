import { access, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import type { LiveRun } from "../support/live-runtime.js";
import { until } from "../support/processes.js";
import { firstLine, runSource } from "../support/run-source.js";
import { type NameServer, startNameServer } from "./name-server.js";
import { type AgentName, isInstalled, makeRoot, openRealAgent, processesUnder, type RealAgent } from "./real-agent.js";

const soak = process.env["SOAK"] === "1";
/** The slowest agent takes 20 s to start on a busy machine; a session of Gemini CLI may have to wait a minute. */
const LIMIT_MS = 90_000;
const AGENTS: readonly AgentName[] = ["gemini", "codex", "opencode"];

vi.setConfig({ testTimeout: 3 * LIMIT_MS });

const script = (...turns: readonly string[]): string => ["Do it.", ...turns.map((turn) => `@model ${turn}`)].join("\n");
const hasText = (run: LiveRun): boolean => run.text() !== "";

let names: NameServer | undefined;

beforeAll(async () => {
  if (process.env["OFFLINE"] === "1") names = await startNameServer();
});

afterAll(async () => {
  await names?.close();
  expect(names?.asked ?? []).toEqual([]);
});

test.each(AGENTS)("%s is installed", (name) => {
  expect(isInstalled(name)).toBe(true);
});

describe.each(AGENTS.filter(isInstalled))("%s", (name) => {
  let agent: RealAgent;
  /** A conversation that the tests which end well share, so that its process does. */
  let conversationId = "";

  beforeAll(async () => {
    agent = await openRealAgent(name);
  });

  afterAll(async () => {
    const { strays } = agent.model;
    await agent.close();
    expect(await agent.alive()).toEqual([]);
    expect(strays).toEqual([]);
  });

  const start = (...turns: readonly string[]): Promise<LiveRun> => agent.start(name, script(...turns));

  async function continueWith(...turns: readonly string[]): Promise<LiveRun> {
    const live = await agent.start(name, script(...turns), conversationId === "" ? {} : { conversationId });
    conversationId = live.conversationId;
    return live;
  }

  /** Resolves once the model was asked more than `before` times. */
  async function untilAsked(live: LiveRun, before: number): Promise<void> {
    const isAsked = (): boolean => agent.model.log.length > before;
    await until("the request", isAsked, LIMIT_MS).catch((error: Error) => {
      throw new Error(`${error.message}, after ${JSON.stringify(live.summary())}`, { cause: error });
    });
  }

  /** Ends well, with every question answered by a yes. */
  async function endWell(live: LiveRun): Promise<void> {
    const answered = answerAll(live);
    expect((await live.end(LIMIT_MS)).state).toBe(ExecutionState.SUCCEEDED);
    await answered;
  }

  /** Cancels, and checks that nothing is left: no process, and no request that the model still answers. */
  async function cancelAndCheck(...lives: readonly LiveRun[]): Promise<void> {
    for (const live of lives) {
      await live.cancel();
      const execution = await live.end(LIMIT_MS);
      expect(execution).toMatchObject({ state: ExecutionState.CANCELLED, cancel: { cleanupError: "" } });
      expect(execution.containment?.escaped).toEqual([]);
      expect(live.all("runCancelled")).toHaveLength(1);
    }
    await until("the model's requests are over", () => agent.model.log.every(({ cut }) => cut !== undefined));
  }

  test("streams text", async () => {
    const live = await continueWith("slow 30 8");
    const execution = await live.end(LIMIT_MS);
    expect(execution.state).toBe(ExecutionState.SUCCEEDED);
    expect(execution.finalOutput).toContain("w0 w1 w2");
    expect(live.all("outputTextDelta").length).toBeGreaterThan(1);
  });

  test("asks before it runs a command, and runs it when that is approved", async () => {
    const live = await continueWith("shell touch approved.txt", "text all done");
    const action = await live.action(1, LIMIT_MS);
    expect(action.options.length).toBeGreaterThan(1);
    await live.respond(action, { approved: true });
    expect((await live.end(LIMIT_MS)).state).toBe(ExecutionState.SUCCEEDED);
    expect(live.text()).toContain("all done");
    expect(await exists(join(agent.workspace, "approved.txt"))).toBe(true);
    expect(live.all("toolCallStarted")).toHaveLength(1);
    expect(live.all("toolCallCompleted")).toMatchObject([{ denied: false, error: "" }]);
  });

  test("does not run a command that is denied", async () => {
    const live = await continueWith("shell touch denied.txt", "text understood");
    await live.respond(await live.action(1, LIMIT_MS), { approved: false });
    expect((await live.end(LIMIT_MS)).state).toBe(ExecutionState.SUCCEEDED);
    expect(await exists(join(agent.workspace, "denied.txt"))).toBe(false);
    expect(live.all("toolCallCompleted")).toMatchObject([{ denied: true }]);
  });

  test("writes a file", async () => {
    const path = join(agent.workspace, "written.txt");
    await endWell(await continueWith(`write ${path} :: one\\ntwo`, "text written"));
    expect((await readFile(path, "utf8")).trim()).toBe("one\ntwo");
  });

  test("shows its plan where it has one", async () => {
    const live = await continueWith("plan look | think | write", "text planned");
    await endWell(live);
    const shown = live
      .all("planUpdated")
      .at(-1)
      ?.entries.map(({ content }) => content);
    // The others keep theirs to themselves, or in a tool call.
    expect(shown).toEqual(name === "codex" ? ["look", "think", "write"] : undefined);
  });

  test("takes a follow_up as the next turn, and a replace instead of the turn", async () => {
    const before = agent.model.log.length;
    const live = await continueWith("hang");
    await untilAsked(live, before);
    await live.send(script("text followed"), InputMode.FOLLOW_UP);
    await live.send(script("text replaced"), InputMode.REPLACE);
    expect((await live.end(LIMIT_MS)).state).toBe(ExecutionState.SUCCEEDED);
    expect([live.text(2), live.text(3)]).toEqual(["replaced", "followed"]);
    // Codex keeps the request until its process ends.
    expect(agent.model.log[before]?.cut).toBe(name === "codex" ? undefined : true);
  });

  test("keeps to its session after a cancel ended its process", async () => {
    await endWell(await continueWith("text the password is swordfish"));
    const live = await continueWith("slow 50 400");
    await live.until("text", hasText, LIMIT_MS);
    await cancelAndCheck(live);
    expect(await agent.alive()).toEqual([]);
    const next = await continueWith("text still here");
    expect((await next.end(LIMIT_MS)).finalOutput).toBe("still here");
    expect(next.all("providerEvent")[0]?.data).toMatchObject({ loaded: true });
    expect(
      agent.model.log
        .at(-1)
        ?.request.items.map(({ text }) => text)
        .join("\n"),
    ).toContain("swordfish");
  });

  test.each([
    ["answers with an error", "error 400 the scripted model refuses"],
    // opencode tries again for more than a minute.
    ...(soak || name !== "opencode" ? [["cuts the connection", "drop"]] : []),
  ])("ends by itself when the model %s, and says why where it fails", async (_, turn) => {
    const live = await start(turn, turn, turn, turn, turn, turn);
    const execution = await live.end(LIMIT_MS);
    if (execution.state !== ExecutionState.SUCCEEDED) expect(execution.error?.message).toContain("reported an error");
  });

  test("goes on with the session when it is killed in the middle of a turn", async () => {
    const live = await start("text before", "slow 50 400");
    await live.until("text", hasText, LIMIT_MS);
    await live.send(script("slow 50 400"));
    await live.until("the second turn", (run) => run.text(2) !== "", LIMIT_MS);
    await agent.killAgents();
    await live.until("the next attempt", (run) => run.all("runResumed").length > 0, LIMIT_MS);
    const isLoaded = (run: LiveRun): boolean => run.all("providerEvent").some(({ data }) => data?.["loaded"] === true);
    await live.until("its session", isLoaded, LIMIT_MS);
    await cancelAndCheck(live);
  });

  test("runs two executions at once, and each is cancelled by itself", async () => {
    const lives = await Promise.all([start("slow 50 400"), start("slow 50 400")]);
    for (const live of lives) await live.until("text", hasText, LIMIT_MS);
    await cancelAndCheck(...lives);
  });

  describe("C05 leaves nothing behind when it is cancelled", () => {
    const nap = "sh -c 'trap \"\" TERM; setsid sleep 300 & sleep 300'";
    /** The shared conversation's agent, which waits for more. */
    let waiting = new Set<string>();

    beforeAll(async () => {
      waiting = new Set(await agent.alive());
    });

    async function cancelAndLookAround(live: LiveRun): Promise<void> {
      await cancelAndCheck(live);
      expect((await agent.alive()).filter((pid) => !waiting.has(pid))).toEqual([]);
    }

    test.each(delays(soak ? 20 : 3))("%i ms into a stream", async (delayMs) => {
      const live = await start("slow 20 2000");
      await live.until("text", hasText, LIMIT_MS);
      await pause(delayMs);
      await cancelAndLookAround(live);
    });

    test.each(delays(soak ? 20 : 1))("%i ms into a silence of the model", async (delayMs) => {
      const before = agent.model.log.length;
      const live = await start("freeze");
      await untilAsked(live, before);
      await pause(delayMs);
      await cancelAndLookAround(live);
    });

    test.each(delays(soak ? 20 : 1))("%i ms into a command that ignores SIGTERM", async (delayMs) => {
      const live = await start(`shell ${nap}`);
      await live.respond(await live.action(1, LIMIT_MS), { approved: true });
      await pause(delayMs);
      await cancelAndLookAround(live);
    });

    test.each(delays(soak ? 5 : 1))("%i ms into a command, when the runtime is killed", async (delayMs) => {
      const root = await makeRoot(name);
      const before = agent.model.log.length;
      const prompt = script(`shell ${nap}`);
      const runtime = runSource(new URL("./runtime.ts", import.meta.url), [name, root, agent.model.url, prompt]);
      expect(await firstLine(runtime)).toBe("approved");
      await pause(delayMs);
      runtime.kill("SIGKILL");
      await until("the watchdog ends the agent", async () => (await processesUnder(root)).length === 0, LIMIT_MS);
      await until("the model's requests are over", () => agent.model.log.every(({ cut }) => cut !== undefined));
      expect(agent.model.log.length).toBeGreaterThan(before);
      await rm(root, { recursive: true, force: true });
    });

    test("while it asks", async () => {
      const live = await start("shell touch never.txt");
      await live.action(1, LIMIT_MS);
      await cancelAndLookAround(live);
      expect(await exists(join(agent.workspace, "never.txt"))).toBe(false);
    });
  });
});

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Says yes to every question of a run until the run is over. */
async function answerAll(live: LiveRun): Promise<void> {
  for (let asked = 1; ; asked++) {
    const action = await live.action(asked).catch(() => undefined);
    if (action === undefined) return;
    await live.respond(action, { approved: true });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Different moments of the first two seconds. */
function delays(count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.round(((index + 0.5) * 2_000) / count));
}
