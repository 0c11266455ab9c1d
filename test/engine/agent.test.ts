import { describe, expect, test } from "vitest";
import {
  type AgentDriverOptions,
  agentDriver,
  type ChatMessage,
  createMemorySessions,
  type HarnessRuntimeConfig,
  type ModelResponse,
  type StreamChunk,
  type ToolCall,
} from "../../src/engine.js";
import { answer, eventOf, eventsOf, MAIN, model, OPTIONS, runtimeOf, tool, USAGE } from "./fixtures.js";

/** A model that gives prepared answers in turn. */
function scripted(...answers: (ModelResponse | string)[]) {
  let next = 0;
  const provider = model(() => {
    const given = answers[next++] ?? "no more answers";
    return typeof given === "string" ? answer(given) : given;
  });
  return provider;
}

function calling(...calls: ToolCall[]): ModelResponse {
  return answer("", { message: { role: "assistant", content: "", toolCalls: calls }, finishReason: "tool_calls" });
}

function agent(options: AgentDriverOptions, config: Partial<HarnessRuntimeConfig> = {}) {
  return runtimeOf(agentDriver({ stream: false, ...options }), { grants: MAIN, ...config });
}

const LOOK = { tools: [tool("look", { execute: ({ at }) => `seen ${at}` })], grants: { ...MAIN, toolIds: ["look"] } };
const look = (id: string, at: string): ToolCall => ({ id, name: "look", arguments: { at } });

describe("agentDriver", () => {
  test("E140 it calls the tools that the model asks for, in the model's order, until the model answers", async () => {
    const provider = scripted(calling(look("c1", "a"), look("c2", "b")), "done");
    const result = await agent({ model: provider, instructions: "Be brief." }, LOOK).run("hello", OPTIONS);
    expect(result).toMatchObject({ status: "completed", text: "done", usage: { totalTokens: 10 } });
    expect(provider.calls[1]?.messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "hello" },
      { role: "assistant", content: "", toolCalls: [look("c1", "a"), look("c2", "b")] },
      { role: "tool", content: "seen a", toolCallId: "c1", toolName: "look" },
      { role: "tool", content: "seen b", toolCallId: "c2", toolName: "look" },
    ]);
  });

  test.each([false, true])("E140 calls without ids get their own (streamed: %s)", async (stream) => {
    const chunks = [
      ...["a", "b"].flatMap((at): StreamChunk[] => [
        { type: "tool_call_start", id: "", name: "look" },
        { type: "tool_call_delta", id: "", delta: JSON.stringify({ at }) },
      ]),
      { type: "finish", finishReason: "tool_calls", usage: USAGE } as const,
    ];
    const provider = scripted(calling(look("", "a"), look("", "b")), "done");
    const streamed = { ...provider, stream: model(undefined, chunks).stream };
    const limits = stream ? { maxSteps: 1 } : {};
    const sessionStore = createMemorySessions();
    await agent({ model: streamed, stream, ...limits }, { ...LOOK, sessionStore }).run("hello", OPTIONS);
    const lease = await sessionStore.acquire(OPTIONS.identity, OPTIONS.sessionId);
    const { history } = await lease.read();
    const ids = history[1]?.toolCalls?.map(({ id }) => id) ?? [];
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain("");
    expect(history.slice(2, 4)).toMatchObject([
      { content: "seen a", toolCallId: ids[0] },
      { content: "seen b", toolCallId: ids[1] },
    ]);
  });

  test("E141 a denial and an error go back to the model as what they are", async () => {
    const provider = scripted(calling({ id: "c1", name: "drop", arguments: {} }, look("c2", "x")), "ok");
    const broken = tool("look", { execute: () => Promise.reject(new Error("dark")) });
    await agent({ model: provider }, { ...LOOK, tools: [broken] }).run("hello", OPTIONS);
    const replies = provider.calls[1]?.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    expect(replies).toEqual(["Not run (policy): drop is not granted", "Failed: dark"]);
  });

  test("E142 a session's next run sees what was said before, without the instructions", async () => {
    const provider = scripted("one", "two");
    const runtime = agent({ model: provider, instructions: "Be brief." });
    await runtime.run("first", OPTIONS);
    await runtime.run("second", OPTIONS);
    expect(provider.calls[1]?.messages.map(({ role, content }) => `${role} ${content}`)).toEqual([
      "system Be brief.",
      "user first",
      "assistant one",
      "user second",
    ]);
  });

  test("E143 a steer is heard between complete tool groups, and before the turn ends", async () => {
    const gate = Promise.withResolvers<void>();
    const waiting = tool("look", {
      execute: async () => {
        await gate.promise;
        return "seen";
      },
    });
    const provider = scripted(calling(look("c1", "a")), "done");
    const handle = agent({ model: provider }, { ...LOOK, tools: [waiting] }).start("hello", OPTIONS);
    await eventOf(handle, "tool.call.started");
    await handle.send("hurry", { mode: "steer" });
    await eventOf(handle, "input.consumed");
    gate.resolve();
    expect((await handle.result()).status).toBe("completed");
    expect(provider.calls[1]?.messages.slice(-2)).toMatchObject([{ role: "tool" }, { role: "user", content: "hurry" }]);
  });

  test("E144 a follow_up is another turn of the same run", async () => {
    const provider = scripted("one", "two");
    const handle = agent({ model: provider }).start("first", OPTIONS);
    await handle.send("second", { mode: "follow_up" });
    expect((await handle.result()).text).toBe("two");
    expect(provider.calls[1]?.messages.map(({ content }) => content)).toEqual(["first", "one", "second"]);
  });

  test("E145 an answer that does not fit the output schema is asked for again; what fits is the structured result", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const provider = scripted("not json", '```json\n{"n": 1}\n```');
    const result = await agent({ model: provider, outputSchema }).run("hello", OPTIONS);
    expect(result).toMatchObject({ status: "completed", structured: { n: 1 } });
    expect(provider.calls[0]?.messages[0]?.content).toContain('"required":["n"]');
    const stubborn = scripted(...Array(5).fill("not json"));
    const failed = await agent({ model: stubborn, outputSchema }).run("hello", OPTIONS);
    expect(failed).toMatchObject({ status: "failed", reason: { message: expect.stringContaining("output schema") } });
    expect(stubborn.calls.length).toBe(3);
  });

  test("E146 too many steps end the run as stopped; an answer that was cut off fails it", async () => {
    const endless = model(() => calling(look(`c${Math.random()}`, "a")));
    expect(await agent({ model: endless, maxSteps: 3 }, LOOK).run("hello", OPTIONS)).toMatchObject({
      status: "stopped",
      reason: { code: "policy_stopped" },
    });
    expect(endless.calls.length).toBe(3);
    const cut = scripted(answer("half an", { finishReason: "length" }));
    expect(await agent({ model: cut }).run("hello", OPTIONS)).toMatchObject({ status: "failed", text: "half an" });
    expect(await agent({}).run("hello", OPTIONS)).toMatchObject({ status: "failed" });
  });

  test("E147 streamed, the text is in the log as it comes and the calls are put together from their pieces", async () => {
    const answers: ChatMessage[] = [];
    const chunks = [
      [
        { type: "reasoning", text: "let me look" },
        { type: "tool_call_start", id: "c1", name: "look" },
        { type: "tool_call_delta", id: "c1", delta: '{"at":' },
        { type: "tool_call_delta", id: "c1", delta: '"a"}' },
        { type: "finish", finishReason: "tool_calls", usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } },
      ],
      [
        { type: "text", text: "do" },
        { type: "text", text: "ne" },
        { type: "finish", finishReason: "stop", usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } },
      ],
    ] as const;
    let next = 0;
    const provider = {
      ...model(),
      async *stream(messages: readonly ChatMessage[]) {
        answers.push(...messages.slice(-1));
        yield* chunks[next++] ?? [];
      },
    };
    const handle = agent({ model: provider, stream: true }, LOOK).start("hello", OPTIONS);
    expect(await handle.result()).toMatchObject({ status: "completed", text: "done", usage: { totalTokens: 4 } });
    expect(answers[1]).toMatchObject({ role: "tool", content: "seen a" });
    const shown = (await eventsOf(handle)).flatMap(({ payload }) =>
      payload.type === "output.text.delta" || payload.type === "output.reasoning.delta"
        ? [[payload.itemId, payload.text]]
        : [],
    );
    expect(shown).toEqual([
      ["step-0", "let me look"],
      ["step-1", "do"],
      ["step-1", "ne"],
    ]);
  });
});
