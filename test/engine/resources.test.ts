import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ListArtifactsRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import {
  createMemorySessions,
  createResourcePool,
  type HarnessDriverOutput,
  type HarnessExecutionServices,
  type HarnessResult,
} from "../../src/engine.js";
import { overCrash } from "./crash.js";
import { ADA, driver, eventOf, OPTIONS, runOnce, runtimeOf, untilAborted } from "./fixtures.js";
import { openServed } from "./served.js";

describe("resources", () => {
  const made =
    (log: string[], id: string, ownership: "runtime" | "host" = "runtime") =>
    async () => ({
      value: id,
      ownership,
      dispose: () => {
        log.push(`disposed ${id}`);
      },
    });

  test("E114 those of a run are made once and disposed at its end, the last first", async () => {
    const log: string[] = [];
    const result = await runOnce(async (services) => {
      const [a, again] = await Promise.all([
        services.resource("a", "run", made(log, "a")),
        services.resource("a", "run", made(log, "other")),
      ]);
      await services.resource("b", "run", made(log, "b"));
      await services.resource("mine", "run", made(log, "mine", "host"));
      expect(log).toEqual([]);
      return `${a} ${again}`;
    });
    expect(result.text).toBe("a a");
    expect(log).toEqual(["disposed b", "disposed a"]);
  });

  test("E115 those of a session are shared and kept until closeSession; those of the host are never disposed", async () => {
    const log: string[] = [];
    let count = 0;
    const resources = createResourcePool();
    const use = async (services: HarnessExecutionServices) => {
      const initialize = async () => ({ ...(await made(log, `s${++count}`)()), value: count });
      const [one, two] = await Promise.all([
        services.resource("x", "session", initialize),
        services.resource("x", "session", initialize),
      ]);
      await services.resource("h", "host", made(log, "h"));
      return `${one} ${two}`;
    };
    const runtime = runtimeOf(use, { resources });
    expect(runtime.resources).toBe(resources);
    expect((await runtime.run("hi", OPTIONS)).text).toBe("1 1");
    expect((await runtime.run("hi", OPTIONS)).text).toBe("1 1");
    expect((await runtime.run("hi", { ...OPTIONS, sessionId: "s2" })).text).toBe("2 2");
    expect(await resources.closeSession(ADA, "s1")).toEqual([]);
    await runtime.close();
    expect(log).toEqual(["disposed s1"]);
  });

  test("E116 one that fails to start leaves nothing behind, and disposals that fail are diagnostics that change no outcome", async () => {
    const runtime = runtimeOf(async (services) => {
      await expect(services.resource("a", "run", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
      await services.resource("a", "run", async () => ({
        value: 1,
        ownership: "runtime",
        dispose: () => Promise.reject(new Error("stuck")),
      }));
      await expect(services.resource("a", "nowhere" as never, made([], "a"))).rejects.toThrow("scope");
      return "ok";
    });
    const handle = runtime.start("hi", OPTIONS);
    const result = await handle.result();
    expect(result).toMatchObject({ status: "completed", text: "ok" });
    expect(result.cleanupDiagnostics).toEqual([expect.stringContaining("stuck")]);
    expect(await eventOf(handle, "run.terminal")).toEqual({ type: "run.terminal", result });
  });
});

describe("the end of a run that is held up", () => {
  const hangs = async () => ({ value: 1, ownership: "runtime" as const, dispose: () => new Promise<void>(() => {}) });

  test("E116 a disposal that hangs is reported, keeps nothing else from being disposed, and frees the session", async () => {
    const log: string[] = [];
    const runtime = runtimeOf(
      async (services) => {
        await services.resource("first", "run", async () => ({
          value: 1,
          ownership: "runtime",
          dispose: async () => {
            log.push("first");
            for (let step = 0; step < 10; step++) await Promise.resolve();
          },
        }));
        await services.resource("second", "run", hangs);
        return "ok";
      },
      {
        cleanupTimeoutMs: 50,
        abilities: [{ name: "tidy", bind: () => ({ dispose: () => void log.push("tidy") }) }],
      },
    );
    const result = await runtime.run("hi", OPTIONS);
    expect(result).toMatchObject({ status: "completed", text: "ok" });
    expect(result.cleanupDiagnostics).toEqual([expect.stringMatching(/"second" was not disposed.*50 ms/)]);
    expect(log).toEqual(["first", "tidy"]);
    expect((await runtime.run("hi", OPTIONS)).status).toBe("completed");
  });

  test("E116 an ability that is bound after the run has ended is disposed, and no further one is bound", async () => {
    const binding = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const disposed = Promise.withResolvers<string>();
    const seen: string[] = [];
    const runtime = runtimeOf(() => void seen.push("driver") as never, {
      cleanupTimeoutMs: 50,
      abilities: [
        {
          name: "slow",
          bind: async () => {
            entered.resolve();
            await binding.promise;
            return { dispose: () => disposed.resolve("disposed") };
          },
        },
        { name: "next", bind: () => void seen.push("next") as never },
      ],
    });
    const handle = runtime.start("hi", OPTIONS);
    await entered.promise;
    handle.cancel();
    expect((await handle.result()).status).toBe("cancelled");
    binding.resolve();
    expect(await disposed.promise).toBe("disposed");
    expect(seen).toEqual([]);
  });

  test("E116 a session that is given after the run has ended is given back", async () => {
    const memory = createMemorySessions();
    const given = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    let slow = true;
    const runtime = runtimeOf(() => "ok", {
      cleanupTimeoutMs: 50,
      sessionStore: {
        acquire: async (...args) => {
          asked.resolve();
          if (slow) await given.promise;
          return await memory.acquire(...args);
        },
      },
    });
    const handle = runtime.start("hi", OPTIONS);
    await asked.promise;
    handle.cancel();
    expect((await handle.result()).status).toBe("cancelled");
    slow = false;
    given.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect((await runtime.run("hi", OPTIONS)).status).toBe("completed");
  });

  test("E116 an ability is told by its context that the run ends, and a cancelled run never enters its driver", async () => {
    const seen: string[] = [];
    const entered = Promise.withResolvers<void>();
    const runtime = runtimeOf(() => void seen.push("driver") as never, {
      abilities: [
        {
          name: "waits",
          bind: async ({ signal }) => {
            entered.resolve();
            await untilAborted(signal).catch(() => seen.push("told"));
            return {};
          },
        },
      ],
    });
    const handle = runtime.start("hi", OPTIONS);
    await entered.promise;
    handle.cancel();
    expect(await handle.result()).toMatchObject({ status: "cancelled" });
    expect(seen).toEqual(["told"]);
  });

  test("E116 an input that replaces a turn while the run is being opened is the next turn", async () => {
    const binding = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const runtime = runtimeOf((_services, { input }) => `${input}`, {
      abilities: [
        {
          name: "slow",
          bind: async () => {
            entered.resolve();
            await binding.promise;
            return {};
          },
        },
      ],
    });
    const handle = runtime.start("hi", OPTIONS);
    await entered.promise;
    await handle.send("other", { mode: "replace" });
    await eventOf(handle, "input.consumed");
    binding.resolve();
    expect(await handle.result()).toMatchObject({ status: "completed", text: "other" });
  });
});

describe("artifacts and outputs", () => {
  test("E117 an artifact's value belongs to tenant, user and session; another owner's id is undefined", async () => {
    const runtime = runtimeOf((services, { input }) => {
      if (input !== "hi") return `${JSON.stringify(services.getArtifact(String(input)))}`;
      const value = { rows: [1, 2] };
      const id = services.putArtifact(value);
      value.rows.push(3);
      expect(services.getArtifact(id)).toEqual({ rows: [1, 2] });
      return { text: id, artifacts: [{ id, mimeType: "application/json" }] };
    });
    const result = await runtime.run("hi", OPTIONS);
    expect(result.artifacts).toEqual([{ id: result.text, mimeType: "application/json" }]);
    expect(runtime.getArtifact(ADA, "s1", result.text)).toEqual({ rows: [1, 2] });
    expect((await runtime.run(result.text, OPTIONS)).text).toBe('{"rows":[1,2]}');
    for (const other of [{ sessionId: "s2" }, { identity: { ...ADA, userId: "eve" } }]) {
      expect((await runtime.run(result.text, { ...OPTIONS, ...other })).text).toBe("undefined");
    }
    expect(runtime.getArtifact(ADA, "s2", result.text)).toBeUndefined();
    expect(runtime.getArtifact({ ...ADA, userId: "eve" }, "s1", result.text)).toBeUndefined();
    expect(runtime.getArtifact({ ...ADA, tenantId: "evil" }, "s1", result.text)).toBeUndefined();
  });

  test("E118 a text over 64 KiB is kept whole as an artifact and cut to 4,096 characters, never within a code point", async () => {
    const text = `${"x".repeat(4_095)}${"😀".repeat(40_000)}`;
    const runtime = runtimeOf(() => text);
    const result = await runtime.run("hi", OPTIONS);
    expect(result.text).toBe("x".repeat(4_095));
    const [artifact] = result.artifacts ?? [];
    expect(artifact?.mimeType).toBe("text/plain");
    expect(runtime.getArtifact(ADA, "s1", artifact?.id ?? "")).toBe(text);
    const short = "y".repeat(65_536);
    expect((await runOnce(() => short)).text).toBe(short);
  });

  test.each<[string, HarnessDriverOutput | Error, HarnessResult["status"]]>([
    ["stopped", { status: "stopped", text: "", reason: { code: "policy_stopped", message: "enough" } }, "stopped"],
    ["failed", new Error("broken"), "failed"],
  ])("E118 so is the text of a run that %s, as far as it came", async (_what, end, status) => {
    const pieces = ["x".repeat(40_000), "y".repeat(40_000)];
    const runtime = runtimeOf((services) => {
      for (const text of pieces) services.emit({ type: "output.text.delta", text });
      if (end instanceof Error) throw end;
      return end;
    });
    const result = await runtime.run("hi", OPTIONS);
    expect(result).toMatchObject({ status, text: "x".repeat(4_096) });
    expect(result.cleanupDiagnostics).toBeUndefined();
    expect(result.artifacts?.map(({ id }) => runtime.getArtifact(ADA, "s1", id))).toEqual([pieces.join("")]);
  });

  test("E118 an artifact that a driver lists in several turns is announced once", async () => {
    let id: string | undefined;
    const runtime = runtimeOf((services) => {
      id ??= services.putArtifact("report");
      return { text: "ok", artifacts: [{ id }, { id }] };
    });
    const handle = runtime.start("hi", OPTIONS);
    await handle.send("again", { mode: "follow_up" });
    const result = await handle.result();
    expect(result).toMatchObject({ status: "completed", artifacts: [{ id }] });
    expect(result.artifacts).toHaveLength(1);
  });

  test("E118 it is announced once over a crash too", async () => {
    const cutOff = Promise.withResolvers<void>();
    const ended = await overCrash({
      driver: (life) => {
        const made = driver(async (_services, { turn, signal }) => {
          if (life === 1 && turn === 2) {
            cutOff.resolve();
            await untilAborted(signal);
          }
          return { text: "ok", artifacts: [{ id: "report" }] };
        });
        return { ...made, capabilities: { ...made.capabilities, durable: true }, resume: made.start };
      },
      until: cutOff.promise,
      followUps: ["again"],
    });
    expect(ended).toMatchObject({ state: ExecutionState.SUCCEEDED, turn: 2, attempt: 2 });
  });

  test("E118 where the driver is served, clients read a long text from the log: no artifact stands for it", async () => {
    const served = await openServed(() => "x".repeat(70_000));
    const { id } = await served.start("hi");
    expect((await served.wait(id)).finalOutputTruncated).toBe(true);
    const request = create(ListArtifactsRequestSchema, { executionId: id });
    expect((await served.runtime.listArtifacts(ADA, request)).artifacts).toEqual([]);
  });

  test("E118 values are kept up to a size, the ones used last, and until their session is closed", async () => {
    const runtime = runtimeOf((services, { input }) => services.putArtifact(`${input}`.repeat(1_000)), {
      maxArtifactBytes: 2_500,
    });
    const put = async (text: string, sessionId: string) => (await runtime.run(text, { ...OPTIONS, sessionId })).text;
    const [a, b] = [await put("a", "s1"), await put("b", "s2")];
    expect(runtime.getArtifact(ADA, "s1", a)).toBe("a".repeat(1_000));
    const c = await put("c", "s1");
    expect(runtime.getArtifact(ADA, "s2", b)).toBeUndefined();
    expect(runtime.getArtifact(ADA, "s1", a)).toBeDefined();
    await runtime.resources.closeSession(ADA, "s1");
    expect([a, c].map((id) => runtime.getArtifact(ADA, "s1", id))).toEqual([undefined, undefined]);
    const d = await put("d", "s1");
    await runtime.resources.closeSession(ADA, "s1");
    expect(runtime.getArtifact(ADA, "s1", d)).toBeUndefined();
  });

  test("E119 a structured output over 64 KiB fails with output_too_large", async () => {
    expect(await runOnce(() => ({ text: "x", structured: { fine: true } }))).toMatchObject({
      structured: { fine: true },
    });
    expect(await runOnce(() => ({ text: "x", structured: "y".repeat(65_537) }))).toMatchObject({
      status: "failed",
      reason: { code: "output_too_large" },
    });
  });

  test("E120 a text that was not emitted is in the log as a delta all the same", async () => {
    const handle = runtimeOf(() => "quiet").start("hi", OPTIONS);
    expect(await eventOf(handle, "output.text.delta")).toMatchObject({ text: "quiet" });
  });
});
