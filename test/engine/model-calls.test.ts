import { describe, expect, test } from "vitest";
import {
  type ChatMessage,
  createEventBus,
  type HarnessExecutionServices,
  type HarnessRuntimeConfig,
  type StreamChunk,
} from "../../src/engine.js";
import {
  ADA,
  answer,
  eventsOf,
  MAIN,
  model,
  OPTIONS,
  runOnce,
  runtimeOf,
  tool,
  USAGE,
  untilAborted,
} from "./fixtures.js";

const USER: ChatMessage = { role: "user", content: "hi" };

describe("model", () => {
  test("E29 a call is counted, planned, changed by middleware, projected, made, accounted and observed, in this order", async () => {
    const order: string[] = [];
    const note = (step: string): undefined => void order.push(step);
    const own = model(() => {
      note("call");
      return answer("fine");
    });
    const telemetry = createEventBus();
    telemetry.on(({ type }) => type === "model.result" && note("account"));
    const result = await runOnce(
      async (services) => {
        await services.model(own, [USER]);
        // The controller throws from here on: the call is counted before it is asked.
        await expect(services.model(own, [USER])).rejects.toThrow("no more");
        return "never";
      },
      {
        telemetry,
        grants: MAIN,
        budgets: { maxModelCalls: 2 },
        controller: {
          id: "c",
          prepareStep: ({ index }) => {
            if (index > 0) throw new Error("no more");
            return note("controller");
          },
        },
        contextPolicy: {
          id: "p",
          project: (messages) => {
            note("context policy");
            return { messages, provenance: [] };
          },
        },
        abilities: [
          {
            name: "m",
            bind: () => ({
              middleware: [{ name: "m", beforeModel: () => note("middleware"), afterModel: () => note("observer") }],
            }),
          },
        ],
      },
    );
    expect(order).toEqual(["controller", "middleware", "context policy", "call", "account", "observer"]);
    expect(result).toMatchObject({ status: "failed", reason: { message: expect.stringContaining("no more") } });
  });

  test("E30 a call goes to the model of the role's binding; for main alone the driver's own may stand in", async () => {
    const bound = model(() => answer("bound"));
    const own = model(() => answer("own"));
    const grants = { toolIds: [], modelRoles: ["main", "critic"] };
    const config: Partial<HarnessRuntimeConfig> = { grants, models: { critic: { provider: bound } } };
    const result = await runOnce(async (services) => {
      const first = await services.model(own, [USER]);
      const second = await services.model(own, [USER], { role: "critic" });
      return `${first.message.content} ${second.message.content}`;
    }, config);
    expect(result.text).toBe("own bound");
    const other = await runOnce(async (services) => (await services.model(own, [USER])).message.content as string, {
      ...config,
      models: { ...config.models, main: { provider: bound } },
    });
    expect(other.text).toBe("bound");
  });

  test.each([
    ["a role's name", "main"],
    ["nothing", undefined],
    ["a model of the AI SDK as it stands", { specificationVersion: "v3", doGenerate() {}, doStream() {} }],
  ])("E30 %s is no model, and no call is counted for it", async (_what, wrong) => {
    const said = "model: must be a ModelProvider, such as aiModel(…)";
    const result = await runOnce(
      async (services) => {
        await expect(services.model(wrong as never, [USER])).rejects.toThrow(said);
        await expect(services.streamModel(wrong as never, [USER]).next()).rejects.toThrow(said);
        return (await services.model(model(), [USER])).message.content as string;
      },
      { grants: MAIN, budgets: { maxModelCalls: 1 } },
    );
    expect(result).toMatchObject({ status: "completed", text: "fine" });
  });

  test("E31 a role that is not granted fails the run with no provider call", async () => {
    const own = model();
    const result = await runOnce(async (services) => {
      await services.model(own, [USER]).catch(() => {});
      return "swallowed";
    });
    expect(result).toMatchObject({ status: "failed", reason: { code: "execution_failed" } });
    expect(own.calls).toEqual([]);
  });

  test("E32 the model sees the tools that were supplied and granted, each once", async () => {
    const own = model();
    const tools = [tool("a"), tool("b")];
    const { status } = await runOnce(
      async (services) => {
        expect(services.tools.map(({ name }) => name)).toEqual(["a"]);
        const definitions = tools.map(({ name, description }) => ({ name, description, parameters: {} }));
        await services.model(own, [USER], { tools: definitions });
        await services.model(own, [USER]);
        return "ok";
      },
      { grants: { toolIds: ["a"], modelRoles: ["main"] }, tools },
    );
    expect(status).toBe("completed");
    expect(own.calls.map(({ options }) => options.tools?.map(({ name }) => name))).toEqual([["a"], undefined]);
  });

  test.each<[string, readonly string[], readonly string[]]>([
    ["twice the same tool", ["a", "a"], []],
    ["a required tool left out", ["a"], ["b"]],
  ])("E33 a call that shows %s fails the run", async (_what, shown, required) => {
    const own = model();
    const result = await runOnce(
      async (services) => {
        const tools = shown.map((name) => ({ name, description: "", parameters: {} }));
        await services.model(own, [USER], { tools });
        return "ok";
      },
      {
        grants: { toolIds: ["a", "b"], requiredToolIds: required, modelRoles: ["main"] },
        tools: [tool("a"), tool("b")],
      },
    );
    expect(result.status).toBe("failed");
    expect(own.calls).toEqual([]);
  });

  test("E34 an option outside of the binding's allowlist is refused", async () => {
    const own = model();
    const models = { main: { provider: own, options: ["temperature"] as const } };
    const result = await runOnce(
      async (services) => {
        await services.model(own, [USER], { temperature: 0.5 });
        await expect(services.model(own, [USER], { topK: 3 })).rejects.toThrow("topK");
        return "ok";
      },
      { grants: MAIN, models },
    );
    expect(result.status).toBe("completed");
    expect(own.calls.length).toBe(1);
  });

  test("E35 middleware changes a call before it is made, and its observers cannot harm it", async () => {
    const own = model();
    const seen: string[] = [];
    const result = await runOnce(async (services) => (await services.model(own, [USER])).message.content as string, {
      grants: MAIN,
      abilities: [
        {
          name: "polite",
          bind: () => ({
            prompts: ["Be kind."],
            middleware: [
              {
                name: "upper",
                beforeModel: ({ messages, options }) => ({
                  messages: messages.map((message) => ({ ...message, content: "HI" })),
                  options: { ...options, temperature: 0 },
                }),
                afterModel: (response) => {
                  seen.push(response.finishReason);
                  throw new Error("an observer");
                },
              },
            ],
          }),
        },
      ],
    });
    expect(result).toMatchObject({ status: "completed", text: "fine" });
    expect(seen).toEqual(["stop"]);
    expect(own.calls[0]?.messages).toEqual([
      { role: "system", content: "Be kind." },
      { role: "user", content: "HI" },
    ]);
    expect(own.calls[0]?.options).toMatchObject({ temperature: 0 });
  });

  test("E36 maxTokens is clamped to what is left, and usage is accounted and logged", async () => {
    const own = model();
    const runtime = runtimeOf(
      async (services) => {
        await services.model(own, [USER], { maxTokens: 50 });
        await services.model(own, [USER], { maxTokens: 500 });
        return "ok";
      },
      { grants: MAIN, budgets: { maxTokens: 100 } },
    );
    const handle = runtime.start("hi", OPTIONS);
    expect((await handle.result()).usage).toEqual({ promptTokens: 6, completionTokens: 4, totalTokens: 10 });
    expect(own.calls.map(({ options }) => options.maxTokens)).toEqual([50, 95]);
    const logged = (await eventsOf(handle)).filter(({ payload }) => payload.type === "model.completed");
    expect(logged.map(({ payload }) => payload)).toEqual(
      Array(2).fill({ type: "model.completed", provider: "fake", model: "fake-1", role: "main", usage: USAGE }),
    );
  });

  test("E37 switching role while messages carry opaque extras is refused", async () => {
    const own = model();
    const result = await runOnce(
      async (services) => {
        const signed: ChatMessage = { role: "assistant", content: "x", providerExtras: { signature: "s" } };
        await services.model(own, [USER, signed]);
        await services.model(own, [USER], { role: "critic" });
        await services
          .model(own, [USER, signed], { role: "main" })
          .catch((error: Error) => expect(error.name).toBe("HarnessUnsupportedError"));
        return `${own.calls.length}`;
      },
      { grants: { toolIds: [], modelRoles: ["main", "critic"] }, models: { critic: { provider: own } } },
    );
    expect(result.text).toBe("2");
  });

  test("E38 the turn's signal ends a call, and an aborted run makes none", async () => {
    const started = Promise.withResolvers<void>();
    const slow = model(async (_messages, { signal }) => {
      started.resolve();
      return await untilAborted(signal);
    });
    const runtime = runtimeOf(
      async (services) => {
        await services.model(slow, [USER]).catch(() => {});
        await services.model(slow, [USER]);
        return "ok";
      },
      { grants: MAIN },
    );
    const handle = runtime.start("hi", OPTIONS);
    await started.promise;
    handle.cancel();
    expect((await handle.result()).status).toBe("cancelled");
    expect(slow.calls.length).toBe(1);
  });
});

describe("streamModel", () => {
  const finish: StreamChunk = { type: "finish", finishReason: "stop", usage: USAGE };
  const text: StreamChunk = { type: "text", text: "x" };

  async function drain(services: HarnessExecutionServices, chunks: readonly StreamChunk[]): Promise<number> {
    let count = 0;
    for await (const _ of services.streamModel(model(undefined, chunks), [USER])) count++;
    return count;
  }

  test.each([
    ["none", [text]],
    ["two", [text, finish, finish]],
    ["one in the middle", [finish, text]],
  ])("E39 a stream with %s finish chunk fails", async (_what, chunks) => {
    const result = await runOnce(async (services) => `${await drain(services, chunks)}`, { grants: MAIN });
    expect(result).toMatchObject({ status: "failed", reason: { code: "execution_failed" } });
  });

  test("E40 a stream's reservation is released on every exit", async () => {
    const result = await runOnce(
      async (services) => {
        const own = model(undefined, [text, text, finish]);
        for await (const _ of services.streamModel(own, [USER])) break;
        await drain(services, [text]).catch(() => {});
        const unread = services.streamModel(own, [USER]);
        await unread.next();
        await unread.return(undefined);
        const count = await drain(services, [text, finish]);
        const after = model();
        await services.model(after, [USER]);
        return `${count} ${after.calls[0]?.options.maxTokens}`;
      },
      { grants: MAIN, budgets: { maxTokens: 100 } },
    );
    expect(result.text).toBe("2 95");
  });
});

describe("controlModel", () => {
  const critic = (generate?: Parameters<typeof model>[0]) => {
    const provider = model(generate);
    return { provider, config: { grants: { toolIds: [], modelRoles: ["critic"] }, models: { critic: { provider } } } };
  };

  test("E41 it skips controller, context policy and middleware and shares the budgets", async () => {
    const { provider, config } = critic();
    const never = (): never => {
      throw new Error("it was asked");
    };
    const result = await runOnce(
      async (services) => {
        const response = await services.controlModel("critic", [USER], { maxTokens: 9 });
        await expect(services.controlModel("critic", [USER])).rejects.toMatchObject({ code: "budget_exhausted" });
        return response.message.content as string;
      },
      {
        ...config,
        budgets: { maxModelCalls: 1 },
        controller: { id: "c", prepareStep: never },
        contextPolicy: { id: "p", project: never },
        abilities: [{ name: "m", bind: () => ({ middleware: [{ name: "m", beforeModel: never }] }) }],
      },
    );
    expect(result).toMatchObject({ status: "stopped", reason: { code: "budget_exhausted" } });
    expect(provider.calls[0]?.options).toMatchObject({ maxTokens: 9 });
  });

  test("E42 the role must be granted and bound, the messages plain, and the answer an end with no tool calls", async () => {
    const { provider, config } = critic(() => answer("", { finishReason: "length" }));
    const result = await runOnce(async (services) => {
      await expect(services.controlModel("main", [USER])).rejects.toThrow("not granted");
      const toolMessage: ChatMessage = { role: "tool", content: "x", toolCallId: "c1" };
      await expect(services.controlModel("critic", [toolMessage])).rejects.toThrow("plain messages");
      await expect(services.controlModel("critic", [USER])).rejects.toThrow("length");
      return "ok";
    }, config);
    expect(result.status).toBe("completed");
    expect(provider.calls.length).toBe(1);
    const toolCalls = [{ id: "c1", name: "a", arguments: {} }];
    const calling = critic(() => answer("", { message: { role: "assistant", content: "", toolCalls } }));
    const unbound = await runOnce(
      async (services) => {
        await expect(services.controlModel("critic", [USER])).rejects.toThrow("only a plain answer counts");
        await expect(services.controlModel("main", [USER])).rejects.toThrow("bound to no model");
        return "ok";
      },
      { ...calling.config, grants: { toolIds: [], modelRoles: ["critic", "main"] } },
    );
    expect(unbound.status).toBe("completed");
  });
});

test("E43 a context of another run is refused, and one of this run knows who it works for", async () => {
  const runtime = runtimeOf(
    async (services) => {
      expect(services.ctx).toMatchObject({ tenantId: ADA.tenantId, userId: ADA.userId, runMode: "execute" });
      expect(() => Object.assign(services.ctx, { userId: "eve" })).toThrow();
      const foreign = { ...services.ctx, runId: "other" };
      await expect(services.model(model(), [USER], {}, foreign)).rejects.toThrow("other");
      expect(services.ctx.executionServices).toBe(services);
      return "ok";
    },
    { grants: MAIN },
  );
  expect((await runtime.run("hi", OPTIONS)).status).toBe("completed");
});
