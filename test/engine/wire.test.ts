import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AgentDriverOptions,
  type AiLanguageModel,
  agentDriver,
  aiModel,
  createApprovalManager,
  type HarnessRuntimeConfig,
} from "../../src/engine.js";
import { type ScriptedModel, startScriptedModel } from "../support/scripted-model/server.js";
import { eventOf, eventsOf, MAIN, OPTIONS, runtimeOf, tool } from "./fixtures.js";

let scripted: ScriptedModel;

beforeAll(async () => {
  scripted = await startScriptedModel();
});
afterAll(() => scripted.close());

const FORMATS: readonly (readonly [string, () => AiLanguageModel])[] = [
  [
    "OpenAI",
    () => createOpenAICompatible({ name: "local", baseURL: `${scripted.url}/v1`, includeUsage: true })("scripted"),
  ],
  ["Anthropic", () => createAnthropic({ baseURL: `${scripted.url}/v1`, apiKey: "x" })("scripted")],
  ["Google", () => createGoogleGenerativeAI({ baseURL: `${scripted.url}/v1beta`, apiKey: "x" })("scripted")],
];

const TOOLS = [
  tool("add", {
    parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    execute: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
  }),
];
const GRANTS = { ...MAIN, toolIds: ["add"] };

describe.each(FORMATS)("the agent over the %s wire format", (_name, open) => {
  const agent = (options: AgentDriverOptions = {}, config: Partial<HarnessRuntimeConfig> = {}) =>
    runtimeOf(agentDriver({ model: aiModel(open(), { maxRetries: 0 }), ...options }), {
      tools: TOOLS,
      grants: GRANTS,
      ...config,
    });

  test("E170 text comes as it is written, with its usage", async () => {
    const handle = agent().start("hello\n@model text good morning world", OPTIONS);
    const result = await handle.result();
    expect(result).toMatchObject({ status: "completed", text: "good morning world" });
    expect(result.usage.totalTokens).toBeGreaterThan(0);
    const deltas = (await eventsOf(handle)).filter(({ payload }) => payload.type === "output.text.delta");
    expect(deltas.length).toBeGreaterThan(1);
  });

  test("E171 a tool is called with its arguments, and the model gets the result", async () => {
    const handle = agent().start('sum\n@model tool add {"a": 2, "b": 40}', OPTIONS);
    expect(await handle.result()).toMatchObject({ status: "completed", text: expect.stringContaining("42") });
    const completed = await eventOf(handle, "tool.call.completed");
    expect(completed).toMatchObject({ name: "add", output: { sum: 42 } });
  });

  test("E172 several calls of one answer run together, and reasoning goes back unread", async () => {
    const prompt =
      'sums\n@model think let me see\n@model+ tool add {"a": 1, "b": 1}\n@model+ tool add {"a": 2, "b": 2}\n@model text both done';
    const handle = agent().start(prompt, OPTIONS);
    expect(await handle.result()).toMatchObject({ status: "completed", text: "both done" });
    const types = (await eventsOf(handle)).map(({ payload }) => payload.type);
    expect(types.filter((type) => type === "tool.call.completed").length).toBe(2);
    expect(types).toContain("output.reasoning.delta");
    const outputs = scripted.log
      .at(-1)
      ?.request.items.filter(({ role }) => role === "tool")
      .map(({ text }) => text)
      .join();
    expect(outputs).toMatch(/"sum\D+2.*"sum\D+4/s);
  });

  test("E173 a session goes on where it was left", async () => {
    const runtime = agent();
    await runtime.run("first\n@model text noted", OPTIONS);
    await runtime.run("second\n@model text again", OPTIONS);
    const said = scripted.log.at(-1)?.request.items.map(({ role, text }) => `${role}: ${text.split("\n")[0]}`);
    expect(said).toEqual(["user: first", "model: noted", "user: second"]);
  });

  test("E174 an approval is asked for, and a denial is what the model hears", async () => {
    const approvalManager = createApprovalManager({
      policy: "all",
      onApproval: () => ({ approved: false, reason: "not today" }),
    });
    const handle = agent({}, { approvalManager }).start('sum\n@model tool add {"a": 1, "b": 1}', OPTIONS);
    expect((await handle.result()).text).toContain("Not run (approval_denied)");
    expect(await eventOf(handle, "action.required")).toMatchObject({
      action: { payload: { tool: "add", arguments: { a: 1, b: 1 } } },
    });
  });

  test("E175 an error of the model's server and a cut connection fail the run; a cancel ends the call", async () => {
    expect(await agent().run("x\n@model error 400 bad request", OPTIONS)).toMatchObject({ status: "failed" });
    expect(await agent().run("x\n@model drop", OPTIONS)).toMatchObject({ status: "failed" });
    const handle = agent().start("x\n@model hang", OPTIONS);
    await eventOf(handle, "output.text.delta");
    handle.cancel("enough");
    expect((await handle.result()).status).toBe("cancelled");
    await expect.poll(() => scripted.log.at(-1)?.cut).toBe(true);
  });
});

test("E176 a picture reaches the model as a file, and a URL is handed on and never fetched by this process", async () => {
  const fetched: string[] = [];
  const seen: unknown[] = [];
  const local = createOpenAICompatible({
    name: "local",
    baseURL: `${scripted.url}/v1`,
    fetch: async (input, init) => {
      fetched.push(String(input));
      seen.push(JSON.parse(String(init?.body)));
      return await fetch(input, init);
    },
  });
  const runtime = runtimeOf(agentDriver({ model: aiModel(local("scripted")) }), { grants: MAIN });
  const input = [
    { type: "text" as const, text: "look" },
    { type: "image" as const, image: new Uint8Array([137, 80, 78, 71]), mediaType: "image/png" },
    { type: "image" as const, image: "https://example.invalid/cat.png", mediaType: "image/png" },
  ];
  expect((await runtime.run(input, OPTIONS)).status).toBe("completed");
  expect(fetched).toEqual([`${scripted.url}/v1/chat/completions`]);
  const text = JSON.stringify(seen);
  expect(text).toContain("data:image/png;base64,iVBORw==");
  expect(text).toContain("https://example.invalid/cat.png");
});
