import { describe, expect, test } from "vitest";
import { type ChatMessage, reflectionPolicy, summaryPolicy, textOf } from "../../src/engine.js";
import { answer, model, runOnce } from "./fixtures.js";

describe("reflectionPolicy", () => {
  const judgedBy = (verdicts: readonly string[], maxRevisions = 2) => {
    const asked: string[] = [];
    const critic = model((messages) => {
      asked.push(textOf(messages[0]?.content ?? ""));
      return answer(verdicts[asked.length - 1] ?? "ACCEPT");
    });
    const run = runOnce((_services, { input }) => `answer to ${input}`, {
      grants: { toolIds: [], modelRoles: ["critic"] },
      models: { critic: { provider: critic } },
      budgets: { maxRevisions: 2 },
      completionPolicy: reflectionPolicy({ criteria: "It is short.", maxRevisions }),
    });
    return { run, asked };
  };

  test("E160 the critic's wish is the next turn's input, until it accepts", async () => {
    const { run, asked } = judgedBy(["REVISE: shorter", "make it rhyme", "ACCEPT"]);
    expect((await run).text).toBe("answer to Revise your last answer: make it rhyme");
    expect(asked[0]).toContain("It is short.");
    expect(asked[0]).toContain("answer to hello");
    expect(asked.length).toBe(2);
  });

  test("E161 after its own number of revisions the answer is accepted as it is", async () => {
    const { run, asked } = judgedBy(["REVISE: x", "REVISE: y"], 1);
    expect((await run).status).toBe("completed");
    expect(asked.length).toBe(1);
  });
});

describe("summaryPolicy", () => {
  const group = (id: string): ChatMessage[] => [
    { role: "assistant", content: "", toolCalls: [{ id, name: "look", arguments: {} }] },
    { role: "tool", content: `${id} ${"x".repeat(500)}`, toolCallId: id },
  ];
  const history: ChatMessage[] = [
    { role: "user", content: "hi" },
    ...group("c1"),
    ...group("c2"),
    ...group("c3"),
    { role: "assistant", content: "well" },
  ];

  test("E162 old finished tool groups become one summary, made once, and the history stays", async () => {
    const summariser = model(() => answer("they looked"));
    const own = model();
    const result = await runOnce(
      async (services) => {
        services.append(history);
        await services.model(own, [...services.history]);
        await services.model(own, [...services.history]);
        expect(services.history).toEqual(history);
        return "ok";
      },
      {
        grants: { toolIds: [], modelRoles: ["main", "summary"] },
        models: { summary: { provider: summariser } },
        contextPolicy: summaryPolicy({ maxBytes: 1_000, keepGroups: 1 }),
      },
    );
    expect(result.status).toBe("completed");
    expect(summariser.calls.length).toBe(1);
    expect(own.calls[1]?.messages).toEqual([
      { role: "user", content: "hi" },
      { role: "assistant", content: "Summary of earlier tool calls: they looked" },
      ...group("c3"),
      { role: "assistant", content: "well" },
    ]);
  });

  test("E162 a summary may use the words of a short retrieved text", async () => {
    const own = model();
    const docs = { id: "docs", retrieve: async () => ["Paris", ""] };
    const result = await runOnce(
      async (services) => {
        await services.model(own, history);
        return "ok";
      },
      {
        grants: { toolIds: [], modelRoles: ["main", "summary"] },
        models: { summary: { provider: model(() => answer("they looked at Paris")) } },
        contextPolicy: summaryPolicy({ maxBytes: 1_000, keepGroups: 1 }),
        abilities: [{ name: "docs", bind: () => ({ contextSources: [docs] }) }],
      },
    );
    expect(result.status).toBe("completed");
    expect(own.calls[0]?.messages.map(({ content }) => content)).toContain(
      "Summary of earlier tool calls: they looked at Paris",
    );
  });

  test("E163 what is short enough is left alone", async () => {
    const own = model();
    await runOnce(
      async (services) => {
        await services.model(own, history);
        return "ok";
      },
      { grants: { toolIds: [], modelRoles: ["main"] }, contextPolicy: summaryPolicy() },
    );
    expect(own.calls[0]?.messages).toEqual(history);
  });
});
