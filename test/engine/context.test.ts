import { describe, expect, test } from "vitest";
import { checkProjection } from "../../src/engine/context-policy.js";
import { retrieveContext } from "../../src/engine/context-source.js";
import { createRunContext } from "../../src/engine/run-context.js";
import type { ChatMessage, ContextPolicy, ContextProvenance } from "../../src/engine.js";
import { ADA, eventsOf, MAIN, ManualClock, model, OPTIONS, runOnce, runtimeOf } from "./fixtures.js";

const SYSTEM: ChatMessage = { role: "system", content: "Be kind." };
const USER: ChatMessage = { role: "user", content: "hi" };
const ANSWER: ChatMessage = { role: "assistant", content: "hello" };
const group = (id: string): ChatMessage[] => [
  { role: "assistant", content: "", toolCalls: [{ id, name: "a", arguments: {} }] },
  { role: "tool", content: "done", toolCallId: id },
];
const SOURCE: ChatMessage = { role: "user", content: "retrieved words", sourceId: "docs" };
const ALL = [SYSTEM, SOURCE, USER, ...group("c1"), ANSWER, USER, ...group("c2")];

describe("a projection", () => {
  test.each<[string, readonly ChatMessage[]]>([
    ["everything", ALL],
    ["without a finished tool group", [SYSTEM, SOURCE, USER, ANSWER, USER, ...group("c2")]],
    ["without a retrieved source", [SYSTEM, USER, ...group("c1"), ANSWER, USER, ...group("c2")]],
    [
      "with a summary in place of both",
      [SYSTEM, USER, { role: "assistant", content: "summary" }, ANSWER, USER, ...group("c2")],
    ],
  ])("E90 may show %s", (_what, projected) => {
    expect(checkProjection(ALL, projected)).toBe(projected);
  });

  test.each<[string, readonly ChatMessage[]]>([
    ["drop a system message", ALL.slice(1)],
    ["change a system message", [{ ...SYSTEM, content: "Be rude." }, ...ALL.slice(1)]],
    ["add a system message", [SYSTEM, ...ALL]],
    ["drop a user message", ALL.filter((_, index) => index !== 2)],
    ["drop an answer", ALL.filter((_, index) => index !== 5)],
    ["split a finished group", ALL.filter((_, index) => index !== 4)],
    ["split the live group", ALL.slice(0, -1)],
    ["drop the live group", ALL.slice(0, -2)],
    ["promote retrieved text to system", [SYSTEM, { role: "system", content: "retrieved words" }, ...ALL.slice(2)]],
    [
      "promote retrieved text to an answer",
      [SYSTEM, { role: "assistant", content: "retrieved words" }, ...ALL.slice(2)],
    ],
    [
      "show a retrieved source as the user's own words",
      [SYSTEM, { role: "user", content: "retrieved words" }, ...ALL.slice(2)],
    ],
    ["change the order", [SYSTEM, USER, SOURCE, ...ALL.slice(3)]],
    ["invent a tool group", [...ALL, ...group("c9")]],
  ])("E91 may not %s", (_what, projected) => {
    expect(() => checkProjection(ALL, projected)).toThrow("context policy");
  });

  const WORDS = "what a source says at such a length that nobody else has the very same words for it";
  test.each<[string, string, string, boolean]>([
    ["mention what a short source says too", "Paris", "The capital is Paris.", true],
    ["be all that a short source says", "Paris", " Paris\n", false],
    ["repeat a long source among its own words", WORDS, `So: ${WORDS}!`, false],
    ["mention less than that of a long source", WORDS, WORDS.slice(1), true],
  ])("E91 what a policy adds: whether it may %s", (_what, retrieved, added, may) => {
    const source: ChatMessage = { role: "user", content: retrieved, sourceId: "docs" };
    const project = () => checkProjection([source, USER], [{ role: "assistant", content: added }, USER]);
    if (may) expect(project()).toHaveLength(2);
    else expect(project).toThrow("context policy");
  });

  test("E92 the policy works on copies, and the canonical history never changes", async () => {
    const own = model();
    const contextPolicy: ContextPolicy = {
      id: "short",
      project: (messages) => {
        const kept = messages.filter(({ role, toolCalls }) => role !== "tool" && toolCalls === undefined);
        (messages as ChatMessage[]).length = 0;
        return { messages: kept, provenance: [] };
      },
    };
    const history = [USER, ...group("c1"), ANSWER];
    const result = await runOnce(
      async (services) => {
        services.append(history);
        await services.model(own, [...services.history]);
        expect(services.history).toEqual(history);
        return { text: "ok", history: [...history, ANSWER] };
      },
      { grants: MAIN, contextPolicy },
    );
    expect(result.status).toBe("completed");
    expect(own.calls[0]?.messages).toEqual([USER, ANSWER]);
  });

  const told = (provenance: readonly ContextProvenance[], keeps: (message: ChatMessage) => boolean) => {
    const own = model();
    const source = (id: string, texts: readonly string[]) => ({ id, retrieve: async () => texts });
    const sources = [source("docs", ["one", "two"]), source("notes", ["three"])];
    const runtime = runtimeOf(
      async (services) => {
        for (let step = 0; step < 2; step++) await services.model(own, [USER]).catch(() => {});
        return "ok";
      },
      {
        grants: MAIN,
        abilities: [{ name: "docs", bind: () => ({ contextSources: sources }) }],
        contextPolicy: { id: "some", project: (messages) => ({ messages: messages.filter(keeps), provenance }) },
      },
    );
    return { handle: runtime.start("hi", OPTIONS), own };
  };

  test.each<[string, readonly ContextProvenance[], (message: ChatMessage) => boolean]>([
    ["included, and is not", [{ sourceId: "docs", included: true }], ({ sourceId }) => sourceId !== "docs"],
    ["left out, and is not", [{ sourceId: "docs", included: false }], () => true],
    ["included, and there is no such source", [{ sourceId: "web", included: true }], () => true],
  ])("E93 a policy that says that a source is %s fails the run with no provider call", async (_what, says, keeps) => {
    const { handle, own } = told(says, keeps);
    expect(await handle.result()).toMatchObject({
      status: "failed",
      reason: { message: expect.stringContaining("the context policy says that the source") },
    });
    expect(own.calls).toEqual([]);
  });

  test("E93 what a policy leaves out is a diagnostic in the log, once a turn and source, with the policy's reason", async () => {
    const says = [{ sourceId: "notes", included: false, reason: "too old" }];
    const { handle, own } = told(says, ({ content }) => content !== "two" && content !== "three");
    expect((await handle.result()).status).toBe("completed");
    expect(own.calls.map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ["one", "hi"],
      ["one", "hi"],
    ]);
    const data = (await eventsOf(handle)).flatMap(({ payload }) =>
      payload.type === "provider.event" ? [payload.data] : [],
    );
    expect(data).toEqual([
      { source_id: "docs", problem: "left_out", detail: "the context policy does not say why" },
      { source_id: "notes", problem: "left_out", detail: "too old" },
    ]);
  });

  test("E93 a policy that does what it may not fails the run with no provider call", async () => {
    const own = model();
    const contextPolicy: ContextPolicy = { id: "bad", project: () => ({ messages: [], provenance: [] }) };
    const result = await runOnce(
      async (services) => {
        await services.model(own, [USER]).catch(() => {});
        return "swallowed";
      },
      { grants: MAIN, contextPolicy },
    );
    expect(result.status).toBe("failed");
    expect(own.calls).toEqual([]);
  });
});

describe("context sources", () => {
  const ctx = createRunContext({
    runId: "r1",
    sessionId: "s1",
    identity: ADA,
    runMode: "execute",
    signal: new AbortController().signal,
    state: {},
    rootRunId: "r1",
  });

  test("E94 all sources share 32 entries and 65,536 bytes; what was cut is a diagnostic", async () => {
    const source = (id: string, texts: readonly string[]) => ({ id, retrieve: async () => texts });
    const clock = new ManualClock();
    const many = await retrieveContext(
      [source("a", Array(30).fill("x")), source("b", Array(5).fill("y"))],
      "q",
      ctx,
      clock,
    );
    expect(many.messages.length).toBe(32);
    expect(many.diagnostics).toEqual([{ sourceId: "b", problem: "cut", detail: "3 of 5 entries are left out" }]);
    const big = await retrieveContext([source("a", ["é".repeat(30_000), "z".repeat(10_000), "w"])], "q", ctx, clock);
    expect(big.messages.map(({ content }) => content.length)).toEqual([30_000, 1]);
    expect(big.diagnostics[0]).toMatchObject({ problem: "cut" });
    const empty = await retrieveContext([source("a", ["", "x", ""])], "q", ctx, clock);
    expect(empty).toEqual({ messages: [{ role: "user", content: "x", sourceId: "a" }], diagnostics: [] });
  });

  test("E95 a source that fails or takes over 5 s is a diagnostic in the log, and the run goes on", async () => {
    const clock = new ManualClock();
    const own = model();
    const asked = Promise.withResolvers<void>();
    const slow = {
      id: "slow",
      retrieve: () => {
        asked.resolve();
        return new Promise<never>(() => {});
      },
    };
    const runtime = runtimeOf(
      async (services) => {
        await services.model(own, [USER]);
        return "ok";
      },
      {
        clock,
        grants: MAIN,
        abilities: [
          {
            name: "docs",
            bind: () => ({
              contextSources: [
                { id: "broken", retrieve: () => Promise.reject(new Error("offline")) },
                slow,
                { id: "good", retrieve: async (query) => [`about ${query}`] },
              ],
            }),
          },
        ],
      },
    );
    const handle = runtime.start("hello", OPTIONS);
    await asked.promise;
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5_000);
    expect((await handle.result()).status).toBe("completed");
    expect(own.calls[0]?.messages).toEqual([{ role: "user", content: "about hello", sourceId: "good" }, USER]);
    const diagnostics = (await eventsOf(handle)).flatMap(({ payload }) =>
      payload.type === "provider.event" ? [payload] : [],
    );
    expect(diagnostics).toMatchObject([
      { eventType: "engine.context_diagnostic", data: { source_id: "broken", problem: "failed", detail: "offline" } },
      { eventType: "engine.context_diagnostic", data: { source_id: "slow", problem: "timed_out" } },
    ]);
  });
});
