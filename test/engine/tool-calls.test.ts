import { describe, expect, test } from "vitest";
import { z } from "zod";
import { EVENT_NAMES } from "../../src/core/event-name.js";
import {
  createApprovalManager,
  HarnessDenialError,
  type HarnessRuntimeConfig,
  type ToolDef,
} from "../../src/engine.js";
import { eventOf, eventsOf, OPTIONS, runOnce, runtimeOf, storeThat, tool, USAGE } from "./fixtures.js";

const grants = (...toolIds: string[]): HarnessRuntimeConfig["grants"] => ({ toolIds, modelRoles: [] });

/** Dispatches one call and returns its result as the run's structured output. */
async function dispatchOnce(tools: readonly ToolDef[], args: unknown, config: Partial<HarnessRuntimeConfig> = {}) {
  const runtime = runtimeOf(
    async (services) => {
      const structured = await services.dispatch({ id: "c1", name: "a", arguments: args });
      return { text: "", structured };
    },
    { tools, grants: grants("a"), ...config },
  );
  const handle = runtime.start("hi", OPTIONS);
  const { structured } = await handle.result();
  return { result: structured, events: await eventsOf(handle) };
}

describe("dispatch", () => {
  test("E45 a call is logged from its start to its result", async () => {
    const { result, events } = await dispatchOnce([tool("a", { execute: (args) => ({ got: args["x"] }) })], { x: 1 });
    expect(result).toEqual({ toolCallId: "c1", toolName: "a", result: { got: 1 } });
    expect(events.map(({ payload }) => payload).filter(({ type }) => type.startsWith("tool."))).toEqual([
      { type: "tool.call.started", toolCallId: "c1", name: "a", input: { x: 1 } },
      { type: "tool.call.completed", toolCallId: "c1", name: "a", output: { got: 1 } },
    ]);
  });

  test.each<[string, ToolDef["parameters"]]>([
    [
      "a JSON Schema",
      { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: { x: { type: "number" } } },
    ],
    ["a Standard Schema", z.object({ x: z.number() })],
  ])("E46 arguments that do not fit %s are an error, and the tool is not run", async (_what, parameters) => {
    let ran = 0;
    const strict = tool("a", { parameters, execute: () => `ran ${++ran}` });
    const { result } = await dispatchOnce([strict], { x: "one" });
    expect(result).toMatchObject({ toolCallId: "c1", error: expect.any(String) });
    expect(result).not.toHaveProperty("denial");
    expect(ran).toBe(0);
    expect((await dispatchOnce([strict], { x: 1 })).result).toMatchObject({ result: "ran 1" });
  });

  test("E47 a tool that throws gives an error, and what is not granted or not there a denial or an error", async () => {
    const broken = tool("a", { execute: () => Promise.reject(new Error("disk full")) });
    expect((await dispatchOnce([broken], {})).result).toMatchObject({ error: "disk full" });
    expect((await dispatchOnce([tool("a")], {}, { grants: grants() })).result).toMatchObject({ denial: "policy" });
    expect((await dispatchOnce([], {})).result).toMatchObject({ error: 'there is no tool "a"' });
  });

  test("E48 each attempt is counted once and the policy asked once; an exhausted budget denies and the run goes on", async () => {
    const asked: string[] = [];
    const result = await runOnce(
      async (services) => {
        const outcomes: string[] = [];
        for (const id of ["c1", "c2", "c3"]) {
          const { denial, error, result: value } = await services.dispatch({ id, name: "a", arguments: {} });
          outcomes.push(`${value ?? denial} ${error ?? ""}`.trim());
        }
        return outcomes.join(", ");
      },
      {
        tools: [tool("a")],
        grants: grants("a"),
        budgets: { maxToolCalls: 2 },
        executionPolicy: {
          decide: ({ id }) => {
            asked.push(id);
            return { action: "allow" };
          },
        },
      },
    );
    expect(result).toMatchObject({
      status: "completed",
      text: "a done, a done, policy the budget of tool calls is used up",
    });
    expect(asked).toEqual(["c1", "c2"]);
  });

  test("E49 arguments that change after they were reviewed are a denial", async () => {
    const ran: unknown[] = [];
    const call = { id: "c1", name: "a", arguments: { path: "/tmp/x" } };
    const result = await runOnce(
      async (services) => {
        const { denial, error } = await services.dispatch(call);
        return `${denial}: ${error}`;
      },
      {
        tools: [tool("a", { execute: (args) => ran.push(args) })],
        grants: grants("a"),
        executionPolicy: {
          decide: () => {
            call.arguments.path = "/etc/passwd";
            return { action: "allow" };
          },
        },
      },
    );
    expect(result.text).toBe("policy: the arguments changed after they were reviewed");
    expect(ran).toEqual([]);
  });

  test("E49 arguments that change once they were reviewed, before the tool runs, do not reach it", async () => {
    const ran: unknown[] = [];
    const call = { id: "c1", name: "a", arguments: { path: "/tmp/x" } };
    const reviewed = Promise.withResolvers<void>();
    const store = storeThat(async ({ chunk }) => {
      if (chunk === undefined || !Buffer.from(chunk.bytes).includes("/tmp/x")) return;
      await reviewed.promise;
      await new Promise((resolve) => setImmediate(resolve));
      call.arguments.path = "/etc/passwd";
    });
    const result = await runOnce(async (services) => `${(await services.dispatch(call)).denial ?? "ran"}`, {
      store,
      tools: [tool("a", { execute: (args) => ran.push(structuredClone(args)) })],
      grants: grants("a"),
      executionPolicy: {
        decide: () => {
          reviewed.resolve();
          return { action: "allow" };
        },
      },
    });
    expect(result.text).toBe("ran");
    expect(ran).toEqual([{ path: "/tmp/x" }]);
  });

  test("E50 a long output is in the log in part and whole in the result", async () => {
    const { result, events } = await dispatchOnce([tool("a", { execute: () => "x".repeat(100_000) })], {});
    const completed = events.find(({ payload }) => payload.type === "tool.call.completed")?.payload;
    expect(completed).toMatchObject({ output: { truncated: true, characters: 100_002 } });
    expect(result).toBeUndefined();
  });
});

function nested(levels: number): unknown {
  return levels === 0 ? 1 : { a: nested(levels - 1) };
}

describe("what a call leaves in the log", () => {
  test.each([
    ["32 levels deep", nested(32), nested(32)],
    ["33 levels deep", nested(33), { truncated: true, beginning: expect.stringContaining('{"a":') }],
    ["lists 32 deep", JSON.parse(`${"[".repeat(32)}${"]".repeat(32)}`), expect.any(Array)],
    ["many small numbers", Array(30_000).fill(7), { truncated: true, characters: 60_001 }],
    ["not JSON at all", { big: 1n }, null],
  ])(
    "E50 a result that is %s reaches the driver, and the log as far as it can hold it",
    async (_what, value, logged) => {
      let got: unknown;
      const runtime = runtimeOf(
        async (services) => {
          ({ result: got } = await services.dispatch({ id: "c1", name: "a", arguments: {} }));
          return "went on";
        },
        { tools: [tool("a", { execute: () => value })], grants: grants("a") },
      );
      const handle = runtime.start("hi", OPTIONS);
      expect(await handle.result()).toMatchObject({ status: "completed", text: "went on" });
      expect(got).toEqual(value);
      expect((await eventOf(handle, "tool.call.completed")).output).toMatchObject(logged as never);
    },
  );

  test("E50 arguments may be deep too, also where somebody is asked for a word on them", async () => {
    const approvalManager = createApprovalManager({ onApproval: () => ({ approved: true }) });
    for (const args of [nested(32), { list: Array(8_000).fill(7) }]) {
      const runtime = runtimeOf(
        async (services) => {
          const { result, error } = await services.dispatch({ id: "c1", name: "a", arguments: args });
          return `${result ?? error}`;
        },
        { tools: [tool("a", { requiresApproval: true })], grants: grants("a"), approvalManager },
      );
      expect(await runtime.run("hi", OPTIONS)).toMatchObject({ status: "completed", text: "a done" });
    }
  });

  test("E50 a call without an id gets one of its own", async () => {
    const runtime = runtimeOf(
      async (services) => {
        const calls = [1, 2].map(() => services.dispatch({ id: "", name: "a", arguments: {} }));
        return (await Promise.all(calls)).map(({ toolCallId }) => toolCallId).join(" ");
      },
      { tools: [tool("a")], grants: grants("a") },
    );
    const { status, text } = await runtime.run("hi", OPTIONS);
    expect(status).toBe("completed");
    expect(new Set(text.split(" ")).size).toBe(2);
  });

  test("E50 what a driver emits too deep is refused at once, and the run goes on", async () => {
    const result = await runOnce((services) => {
      const data = nested(33) as never;
      expect(() => services.emit({ type: "provider.event", eventType: "acme.x", data })).toThrow("32");
      return "fine";
    });
    expect(result.text).toBe("fine");
  });
});

describe("dispatchEffect", () => {
  test("E51 an effect runs under its granted name, and a denial throws", async () => {
    const result = await runOnce(
      async (services) => {
        const value = await services.dispatchEffect(
          "save",
          { path: "a" },
          async (args, ctx) => `${args["path"]} for ${ctx.userId}`,
        );
        const denied = await services
          .dispatchEffect("drop", {}, async () => "dropped")
          .catch((error: unknown) => error);
        expect(denied).toBeInstanceOf(HarnessDenialError);
        expect(denied).toMatchObject({ denial: "policy", toolName: "drop" });
        await expect(services.dispatchEffect("save", {}, () => Promise.reject(new RangeError("full")))).rejects.toThrow(
          RangeError,
        );
        return value;
      },
      { grants: grants("save") },
    );
    expect(result).toMatchObject({ status: "completed", text: "a for ada" });
  });
});

describe("observeTool, runOwned, history", () => {
  test("E52 the result of a call from elsewhere is in the log", async () => {
    const runtime = runtimeOf(async (services) => {
      await services.observeTool({ toolCallId: "x1", toolName: "remote", result: 7 });
      return "ok";
    });
    const handle = runtime.start("hi", OPTIONS);
    const types = (await eventsOf(handle)).map(({ payload }) => payload.type);
    expect(types).toContain("tool.call.started");
    expect(types).toContain("tool.call.completed");
  });

  test("E53 the run waits for owned work; if that rejects, the run fails", async () => {
    let done = false;
    const waited = await runOnce((services) => {
      void services.runOwned(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        done = true;
      });
      return "ok";
    });
    expect([waited.status, done]).toEqual(["completed", true]);
    const result = await runOnce((services) => {
      void services.runOwned(() => Promise.reject(new Error("it broke")));
      return "ok";
    });
    expect(result).toMatchObject({ status: "failed", reason: { message: expect.stringContaining("it broke") } });
  });

  test("E54 history is a copy, grows by append, and a returned history must extend it exactly", async () => {
    const hi = { role: "user" as const, content: "hi" };
    const good = await runOnce((services) => {
      services.append([hi]);
      services.history.slice().pop();
      (services.history as unknown[]).length = 0;
      expect(services.history).toEqual([hi]);
      return { text: "ok", history: [hi, { role: "assistant", content: "ok" }] };
    });
    expect(good.status).toBe("completed");
    const bad = await runOnce((services) => {
      services.append([hi]);
      return { text: "ok", history: [{ role: "user", content: "other" }] };
    });
    expect(bad).toMatchObject({ status: "failed", reason: { message: expect.stringContaining("does not extend") } });
    expect(
      (
        await runOnce((services) => {
          services.append([{ role: "robot" as never, content: "x" }]);
          return "ok";
        })
      ).status,
    ).toBe("failed");
  });
});

describe("emit", () => {
  test.each([
    ...EVENT_NAMES.filter((name) => /^(run|action|input)\.|^(artifact.created|completion.evaluated)$/.test(name)),
    "run.terminal",
    "nonsense",
  ])("E55 %s is the runtime's and refused at run time", async (type) => {
    const result = await runOnce((services) => {
      expect(() => services.emit({ type } as never)).toThrow(type);
      return "ok";
    });
    expect(result.status).toBe("completed");
  });

  test("E56 an event is at most 64 KiB of JSON that JSON can say, and every kind arrives as it was sent", async () => {
    const sent = [
      { type: "output.text.delta", text: "a", itemId: "i1" },
      { type: "output.reasoning.delta", text: "because" },
      { type: "output.text.done", text: "a", itemId: "i1" },
      { type: "plan.updated", entries: [{ content: "think", priority: "high", state: "in_progress" }] },
      { type: "tool.call.started", toolCallId: "t1", name: "x", kind: "read", title: "Reads", input: { a: 1 } },
      { type: "tool.call.updated", toolCallId: "t1", output: "half" },
      { type: "tool.call.completed", toolCallId: "t1", denied: true, error: "no" },
      { type: "model.completed", provider: "p", model: "m", role: "main", usage: USAGE },
      { type: "provider.event", eventType: "acme.progress", data: { done: 0.5 } },
    ] as const;
    const runtime = runtimeOf((services) => {
      for (const payload of sent) services.emit(payload);
      expect(() => services.emit({ type: "output.text.delta", text: "x".repeat(65_536) })).toThrow("65536");
      expect(() => services.emit({ type: "provider.event", eventType: "acme.x", data: { at: Number.NaN } })).toThrow(
        "JSON",
      );
      return "ok";
    });
    const handle = runtime.start("hi", OPTIONS);
    const seen = (await eventsOf(handle)).map(({ payload }) => payload);
    expect(
      seen
        .filter(({ type }) => !/^(run|output\.text\.done)/.test(type) || type === "output.text.done")
        .slice(0, sent.length),
    ).toEqual(sent);
  });

  test("E57 an event with a portable name in a vendor's clothes fails the run", async () => {
    const result = await runOnce((services) => {
      services.emit({ type: "provider.event", eventType: "run.completed", data: {} });
      return "ok";
    });
    expect(result).toMatchObject({ status: "failed", reason: { code: "provider_protocol_violation" } });
  });

  test("E57 a driver that goes on while the store keeps nothing ends as failed once it does again", async () => {
    let broken = false;
    const refused = Promise.withResolvers<void>();
    const store = storeThat(() => {
      if (!broken) return;
      refused.resolve();
      throw new Error("disk full");
    });
    const emission = { type: "output.text.delta", text: "word " } as const;
    const result = await runOnce(
      async (services) => {
        broken = true;
        services.emit(emission);
        await refused.promise;
        await new Promise((resolve) => setImmediate(resolve));
        services.emit(emission);
        await new Promise((resolve) => setImmediate(resolve));
        broken = false;
        return "ok";
      },
      { store },
    );
    expect(result).toMatchObject({ status: "failed", reason: { code: "execution_failed" } });
  });
});
