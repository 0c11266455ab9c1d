import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import {
  type ChatMessage,
  createMemorySessions,
  type HarnessSessionStore,
  openFileSessions,
  type SessionSnapshot,
} from "../../src/engine.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { overCrash } from "./crash.js";
import {
  ADA,
  answer,
  driver,
  eventOf,
  ManualClock,
  model,
  OPTIONS,
  runOnce,
  runtimeOf,
  untilAborted,
} from "./fixtures.js";

async function snapshotOf(
  sessions: ReturnType<typeof createMemorySessions>,
  sessionId = "s1",
): Promise<SessionSnapshot> {
  const lease = await sessions.acquire(ADA, sessionId);
  const snapshot = await lease.read();
  await lease.release();
  return snapshot;
}

describe("sessions", () => {
  test("E106 a second run of a session is refused with session_conflict, or waits where it is queued", async () => {
    const release = Promise.withResolvers<void>();
    const runtime = runtimeOf(async (services, { input }) => {
      if (input === "first") await release.promise;
      return `${input} after ${services.history.length}`;
    });
    const first = runtime.start("first", OPTIONS);
    await eventOf(first, "run.started");
    const refused = await runtime.run("second", OPTIONS);
    expect(refused).toMatchObject({ status: "failed", reason: { code: "session_conflict" } });
    const queued = runtime.start("third", { ...OPTIONS, onConflict: "queue" });
    const waiting = runtime.start("fourth", { ...OPTIONS, onConflict: "queue" });
    await eventOf(waiting, "run.started");
    waiting.cancel();
    expect((await waiting.result()).status).toBe("cancelled");
    release.resolve();
    expect((await first.result()).text).toBe("first after 0");
    expect((await queued.result()).text).toBe("third after 2");
  });

  test("E106 a run that was queued still is after a crash, and a client may say what its run does too", async () => {
    const sessionStore = createMemorySessions();
    const lease = await sessionStore.acquire(ADA, "s1");
    const begun = Promise.withResolvers<void>();
    const acquired: unknown[] = [];
    const counting: HarnessSessionStore = {
      acquire: (identity, sessionId, options) => {
        acquired.push(options?.onConflict);
        begun.resolve();
        return sessionStore.acquire(identity, sessionId, options);
      },
    };
    const made = driver(() => "done");
    const ended = overCrash({
      driver: () => ({ ...made, capabilities: { ...made.capabilities, durable: true }, resume: made.start }),
      options: { sessionStore: counting, onConflict: "refuse" },
      config: { session_id: "s1", on_conflict: "queue" },
      until: begun.promise,
      meanwhile: (_runtime, _executionId, life) => {
        if (life === 2) void lease.release();
      },
    });
    expect(await ended).toMatchObject({ state: ExecutionState.SUCCEEDED, attempt: 2, finalOutput: "done" });
    expect(acquired).toEqual(["queue", "queue"]);
  });

  test("E106 what an embedded run does is stored with it, where it is not what the host's runs do", async () => {
    const store = openMemoryStore();
    const runtime = runtimeOf(() => "ok", { store });
    const configOf = async (onConflict: "queue" | "refuse"): Promise<unknown> => {
      const { runId } = await runtime.run("hi", { ...OPTIONS, onConflict });
      const core = await openRuntime({ store, providers: [] });
      const { effectiveConfig } = await core.getExecution(ADA, runId);
      await core.close(0);
      return effectiveConfig;
    };
    expect(await configOf("queue")).toEqual({ session_id: "s1", on_conflict: "queue" });
    expect(await configOf("refuse")).toEqual({ session_id: "s1" });
  });

  test("E107 the same session id of another user or tenant is another session", async () => {
    const runtime = runtimeOf((services) => `${services.history.length}`);
    const owners = [ADA, { ...ADA, userId: "bob" }, { ...ADA, tenantId: "other" }];
    const runs = owners.map((identity) => runtime.run("hi", { ...OPTIONS, identity }));
    expect((await Promise.all(runs)).map(({ text }) => text)).toEqual(["0", "0", "0"]);
    expect((await runtime.run("hi", OPTIONS)).text).toBe("2");
  });

  test("E108 success commits history, conversations, state and the next revision", async () => {
    const sessionStore = createMemorySessions();
    const runtime = runtimeOf(
      (services) => {
        services.state["count"] = ((services.state["count"] as number | undefined) ?? 0) + 1;
        services.recordConversation("helper", [{ role: "user", content: "sub" }]);
        return "fine";
      },
      { sessionStore },
    );
    await runtime.run("one", OPTIONS);
    await runtime.run("two", OPTIONS);
    expect(await snapshotOf(sessionStore)).toEqual({
      history: [
        { role: "user", content: "one" },
        { role: "assistant", content: "fine" },
        { role: "user", content: "two" },
        { role: "assistant", content: "fine" },
      ],
      conversations: { helper: [{ role: "user", content: "sub" }] },
      state: { count: 2 },
      revision: 2,
      replayable: true,
    });
  });

  test("E108 a run of several turns is one revision, and where a later turn fails all but the history stays as it was", async () => {
    const sessionStore = createMemorySessions();
    const runtime = runtimeOf(
      (services, { input }) => {
        services.state["last"] = input;
        if (input === "broken") throw new Error("broken");
        return "fine";
      },
      { sessionStore },
    );
    const good = runtime.start("one", OPTIONS);
    await good.send("two", { mode: "follow_up" });
    expect((await good.result()).status).toBe("completed");
    expect(await snapshotOf(sessionStore)).toMatchObject({ revision: 1, replayable: true, state: { last: "two" } });
    const bad = runtime.start("three", OPTIONS);
    await bad.send("broken", { mode: "follow_up" });
    expect((await bad.result()).status).toBe("failed");
    const snapshot = await snapshotOf(sessionStore);
    expect(snapshot).toMatchObject({ revision: 1, replayable: false, state: { last: "two" } });
    expect(snapshot.history.map(({ content }) => content)).toEqual(["one", "fine", "two", "fine", "three", "fine"]);
  });

  test("E108 a run that is cancelled while it commits is either a success or none", async () => {
    const memory = createMemorySessions();
    let cancel = async (): Promise<void> => {};
    const sessionStore: HarnessSessionStore = {
      acquire: async (...args) => {
        const lease = await memory.acquire(...args);
        const commit: typeof lease.commit = async (snapshot) => {
          await lease.commit(snapshot);
          await cancel();
        };
        return { ...lease, commit };
      },
    };
    const runtime = runtimeOf(
      (services) => {
        services.state["done"] = true;
        return "fine";
      },
      { sessionStore },
    );
    const handle = runtime.start("one", OPTIONS);
    cancel = async () => {
      handle.cancel("too late?");
      await eventOf(handle, "run.cancelling");
    };
    const { status } = await handle.result();
    expect(await snapshotOf(memory)).toMatchObject(
      status === "completed"
        ? { revision: 1, replayable: true, state: { done: true } }
        : { revision: 0, replayable: false, state: {} },
    );
  });

  test("E108 the role whose model left unread parts in the history is known to the session's next run", async () => {
    const extras = { kind: "opaque" };
    const writer = model(() => answer("x", { message: { role: "assistant", content: "x", providerExtras: extras } }));
    const runtime = runtimeOf(
      async (services, { input }) => {
        const ask: ChatMessage = { role: "user", content: "go on" };
        const { message } = await services.model(writer, [...services.history, ask], { role: `${input}` });
        services.append([ask, message]);
        return "fine";
      },
      {
        grants: { toolIds: [], modelRoles: ["main", "writer"] },
        models: { main: { provider: writer }, writer: { provider: writer } },
      },
    );
    expect((await runtime.run("writer", OPTIONS)).status).toBe("completed");
    expect((await runtime.run("writer", OPTIONS)).status).toBe("completed");
    expect(await runtime.run("main", OPTIONS)).toMatchObject({
      status: "failed",
      reason: { message: expect.stringContaining("writer") },
    });
  });

  test("E109 failure commits the partial history as not replayable, and nothing else", async () => {
    const sessionStore = createMemorySessions();
    const config = { sessionStore };
    await runOnce(() => "fine", config);
    await runOnce((services) => {
      services.state["x"] = 1;
      services.append([
        { role: "user", content: "next" },
        { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "a", arguments: {} }] },
      ]);
      throw new Error("broken");
    }, config);
    const snapshot = await snapshotOf(sessionStore);
    expect(snapshot).toMatchObject({ revision: 1, replayable: false, state: {} });
    expect(snapshot.history.length).toBe(4);
    const next = await runOnce((services) => services.history.map(({ role }) => role).join(" "), config);
    expect(next.text).toBe("user assistant user");
  });

  test("E110 a cancelled run commits what there is, and a run that never read its session commits nothing", async () => {
    const sessionStore = createMemorySessions();
    const entered = Promise.withResolvers<void>();
    const runtime = runtimeOf(
      async (services, { signal }) => {
        services.append([{ role: "user", content: "half" }]);
        entered.resolve();
        await untilAborted(signal);
        return "";
      },
      { sessionStore },
    );
    const handle = runtime.start("hi", OPTIONS);
    await entered.promise;
    handle.cancel();
    await handle.result();
    expect(await snapshotOf(sessionStore)).toMatchObject({ history: [{ content: "half" }], replayable: false });
    const lease = await sessionStore.acquire(ADA, "s2");
    await expect(lease.commit(await snapshotOf(sessionStore, "s3"))).rejects.toThrow("read");
    await lease.release();
    await expect(lease.read().then(() => lease.commit({} as never))).rejects.toThrow("released");
  });

  test("E111 a store that fails to commit fails the run", async () => {
    const memory = createMemorySessions();
    const result = await runOnce(() => "fine", {
      sessionStore: {
        acquire: async (...args) => {
          const lease = await memory.acquire(...args);
          return { ...lease, commit: () => Promise.reject(new Error("disk full")) };
        },
      },
    });
    expect(result).toMatchObject({ status: "failed", reason: { message: "disk full" } });
    expect(result.cleanupDiagnostics).toEqual([expect.stringContaining("disk full")]);
  });

  test("E112 a run never waits for a session that one of its ancestors has", async () => {
    const runtime = runtimeOf(async (_services, { input, runId }) => {
      if (input !== "parent") return "ran";
      const child = await runtime.run("child", { ...OPTIONS, parentRunId: runId, onConflict: "queue" });
      return child.reason?.code ?? child.status;
    });
    expect((await runtime.run("parent", OPTIONS)).text).toBe("session_conflict");
  });
});

describe("what is kept of sessions", () => {
  const commit = async (sessions: HarnessSessionStore, sessionId: string, content: string): Promise<void> => {
    const lease = await sessions.acquire(ADA, sessionId);
    await lease.commit({ ...(await lease.read()), history: [{ role: "user", content }] });
    await lease.release();
  };
  const known = async (sessions: HarnessSessionStore, ids: readonly string[]): Promise<readonly string[]> => {
    const found = [];
    for (const id of ids) if ((await snapshotOf(sessions, id)).history.length > 0) found.push(id);
    return found;
  };

  test.each([
    ["their number", { maxSessions: 2 }],
    ["their size", { maxBytes: 5_000 }],
  ])("E113 memory keeps the ones that were used last, within a bound of %s", async (_what, bounds) => {
    const sessions = createMemorySessions(bounds);
    for (const id of ["a", "b"]) await commit(sessions, id, "x".repeat(2_000));
    await snapshotOf(sessions, "a");
    await commit(sessions, "c", "x".repeat(2_000));
    expect(await known(sessions, ["a", "b", "c"])).toEqual(["a", "c"]);
    await commit(sessions, "big", "x".repeat(10_000));
    expect(await known(sessions, ["big"])).toEqual(["big"]);
  });

  test("E113 what is read is a copy, bytes included", async () => {
    const sessions = createMemorySessions();
    const image = { type: "image" as const, image: new Uint8Array([1, 2, 3]), mediaType: "image/png" };
    const lease = await sessions.acquire(ADA, "s1");
    await lease.commit({ ...(await lease.read()), history: [{ role: "user", content: [image] }] });
    for (const fill of [9, 0]) {
      const [message] = (await lease.read()).history;
      expect(message?.content).toEqual([image]);
      for (const part of (message?.content ?? []) as (typeof image)[]) part.image.fill(fill);
    }
  });

  test("E113 files keep them over a restart, for nobody else to read, until 30 days pass without use", async () => {
    const folder = join(await mkdtemp(join(tmpdir(), "sessions-")), "kept");
    onTestFinished(() => rm(dirname(folder), { recursive: true }));
    const clock = new ManualClock();
    const image = { type: "image" as const, image: new Uint8Array([1, 2, 3]), mediaType: "image/png" };
    const before = await openFileSessions(folder, clock);
    const lease = await before.acquire(ADA, "s1");
    await lease.commit({ ...(await lease.read()), history: [{ role: "user", content: [image] }], state: { n: 1 } });
    await commit(before, "s2", "hello");
    const names = await readdir(folder);
    expect(names.length).toBe(2);
    expect((await stat(join(folder, names[0] ?? ""))).mode & 0o077).toBe(0);
    await writeFile(join(folder, "half.tmp"), "half");
    const now = new Date(clock.now());
    for (const name of names) await utimes(join(folder, name), now, now);

    clock.advance(20 * 86_400_000);
    const after = await openFileSessions(folder, clock);
    expect(await snapshotOf(after)).toMatchObject({ history: [{ content: [image] }], state: { n: 1 } });
    expect(await readdir(folder)).toEqual(names);
    clock.advance(20 * 86_400_000);
    const later = await openFileSessions(folder, clock);
    expect(await known(later, ["s1", "s2"])).toEqual(["s1"]);
    const [last = ""] = await readdir(folder);
    await writeFile(join(folder, last), "broken");
    await expect(snapshotOf(later)).rejects.toThrow("remove");
  });
});
