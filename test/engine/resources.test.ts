import { describe, expect, test } from "vitest";
import { createResourcePool, type HarnessExecutionServices } from "../../src/engine.js";
import { ADA, eventOf, OPTIONS, runOnce, runtimeOf } from "./fixtures.js";

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
