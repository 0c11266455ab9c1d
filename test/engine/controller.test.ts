import { describe, expect, test } from "vitest";
import type {
  ChatMessage,
  ContextPolicy,
  HarnessDenialError,
  HarnessRuntimeConfig,
  StepOverrides,
} from "../../src/engine.js";
import { answer, model, runOnce, tool } from "./fixtures.js";

const USER: ChatMessage = { role: "user", content: "hi" };
const TOOLS = [tool("a"), tool("b")];
const SHOWN = TOOLS.map(({ name, description }) => ({ name, description, parameters: {} }));

async function step(overrides: StepOverrides, more: Partial<HarnessRuntimeConfig> = {}) {
  const own = model();
  const critic = model(() => answer("critic"));
  const result = await runOnce(
    async (services) => {
      const response = await services.model(own, [USER], { tools: SHOWN });
      const { denial } = await services.dispatch({ id: "c1", name: "b", arguments: {} });
      return `${response.message.content} ${denial ?? "ran"}`;
    },
    {
      tools: TOOLS,
      grants: { toolIds: ["a", "b"], modelRoles: ["main", "critic"] },
      models: { critic: { provider: critic } },
      controller: { id: "c", prepareStep: () => overrides },
      ...more,
    },
  );
  return { result, calls: [...own.calls, ...critic.calls] };
}

describe("StepController", () => {
  test("E83 it chooses role, tools and options for a step, and only active tools can be called", async () => {
    const { result, calls } = await step({ modelRole: "critic", activeToolIds: ["a"], options: { temperature: 0 } });
    expect(result).toMatchObject({ status: "completed", text: "critic policy" });
    expect(calls[0]?.options).toMatchObject({ temperature: 0, tools: [{ name: "a" }] });
  });

  test("E84 prepareRun holds for every step, prepareStep goes before it, and steps are counted over the run", async () => {
    const steps: number[] = [];
    const own = model();
    await runOnce(
      async (services) => {
        await services.model(own, [USER]);
        await services.model(own, [USER]);
        return "ok";
      },
      {
        grants: { toolIds: [], modelRoles: ["main"] },
        controller: {
          id: "c",
          prepareRun: () => ({ options: { temperature: 1, seed: 7 } }),
          prepareStep: ({ index }) => {
            steps.push(index);
            return index === 1 ? { options: { temperature: 0 } } : undefined;
          },
        },
      },
    );
    expect(steps).toEqual([0, 1]);
    expect(own.calls.map(({ options }) => [options.temperature, options.seed])).toEqual([
      [1, 7],
      [0, 7],
    ]);
  });

  test("E84 what prepareRun leaves active holds before the first step too, and for effects", async () => {
    const result = await runOnce(
      async (services) => {
        const tried = ["a", "b"].map((name) => services.dispatch({ id: name, name, arguments: {} }));
        const denials: string[] = (await Promise.all(tried)).map(({ denial }) => denial ?? "ran");
        for (const effect of ["save", "send"]) {
          const done = services.dispatchEffect(effect, {}, async () => "ran");
          denials.push(await done.catch(({ denial }: HarnessDenialError) => denial));
        }
        const own = model();
        await services.model(own, [USER], { tools: SHOWN });
        return [...denials, ...(own.calls[0]?.options.tools ?? []).map(({ name }) => name)].join();
      },
      {
        tools: TOOLS,
        grants: { toolIds: ["a", "b", "save", "send"], modelRoles: ["main"] },
        controller: { id: "c", prepareRun: () => ({ activeToolIds: ["a", "save"] }) },
      },
    );
    expect(result).toMatchObject({ status: "completed", text: "ran,policy,ran,policy,a" });
  });

  test("E84 it is told the tools that the call would show, and may put a context policy in place of the run's", async () => {
    const told: unknown[] = [];
    const own = model();
    const shows = (id: string, content: string): ContextPolicy => ({
      id,
      project: (messages) => ({ messages: [...messages, { role: "assistant", content }], provenance: [] }),
    });
    const result = await runOnce(
      async (services) => {
        await services.model(own, [USER], { tools: SHOWN });
        await services.model(own, [USER]);
        return "ok";
      },
      {
        tools: TOOLS,
        grants: { toolIds: ["a"], modelRoles: ["main"] },
        contextPolicy: shows("run", "the run's"),
        controller: {
          id: "c",
          prepareStep: ({ index, tools }) => {
            told.push(tools.map(({ name }) => name));
            return index === 0 ? { contextPolicy: shows("step", "the step's") } : undefined;
          },
        },
      },
    );
    expect(result.status).toBe("completed");
    expect(told).toEqual([["a"], []]);
    expect(own.calls.map(({ messages }) => messages.at(-1)?.content)).toEqual(["the step's", "the run's"]);
  });

  test.each<[string, StepOverrides]>([
    ["a role that is not granted", { modelRole: "boss" }],
    ["a tool that is not granted", { activeToolIds: ["a", "z"] }],
    ["a tool twice", { activeToolIds: ["a", "a"] }],
  ])("E85 selecting %s fails the run with no provider call", async (_what, overrides) => {
    const { result, calls } = await step(overrides);
    expect(result).toMatchObject({ status: "failed", reason: { code: "execution_failed" } });
    expect(calls).toEqual([]);
  });

  test("E86 dropping a required tool fails the run with no provider call", async () => {
    const grants = { toolIds: ["a", "b"], requiredToolIds: ["b"], modelRoles: ["main", "critic"] };
    const { result, calls } = await step({ activeToolIds: ["a"] }, { grants });
    expect(result.status).toBe("failed");
    expect(calls).toEqual([]);
  });

  test("E87 stop ends the run as stopped", async () => {
    const { result, calls } = await step({ stop: { reason: "enough" } });
    expect(result).toMatchObject({ status: "stopped", reason: { code: "policy_stopped", message: "enough" } });
    expect(calls).toEqual([]);
  });

  test.each<[string, StepOverrides, string]>([
    ["stop", { activeToolIds: [], stop: true }, "policy_stopped"],
    ["a role that is not granted", { modelRole: "boss" }, "execution_failed"],
    ["a tool that is not granted", { activeToolIds: ["z"] }, "execution_failed"],
    ["a required tool left out", { activeToolIds: ["a"] }, "execution_failed"],
  ])("E87 with %s from prepareRun the run ends and its driver is never called", async (_what, overrides, code) => {
    let called = false;
    const result = await runOnce(
      () => {
        called = true;
        return "ok";
      },
      {
        tools: TOOLS,
        grants: { toolIds: ["a", "b"], requiredToolIds: ["b"], modelRoles: ["main"] },
        controller: { id: "c", prepareRun: () => overrides },
      },
    );
    expect({ called, code: result.reason?.code }).toEqual({ called: false, code });
  });

  test("E88 a controller that throws fails the run", async () => {
    const { result } = await step(
      {},
      { controller: { id: "c", prepareStep: () => Promise.reject(new Error("lost")) } },
    );
    expect(result).toMatchObject({ status: "failed", reason: { message: expect.stringContaining("lost") } });
  });
});
