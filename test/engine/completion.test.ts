import { create } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { CompletionDecision, HarnessExecutionServices, HarnessRuntimeConfig } from "../../src/engine.js";
import { overCrash } from "./crash.js";
import { driver, eventOf, eventsOf, OPTIONS, runOnce, runtimeOf, tool, untilAborted } from "./fixtures.js";
import { openServed } from "./served.js";

function judged(decisions: readonly (CompletionDecision | undefined)[], more: Partial<HarnessRuntimeConfig> = {}) {
  const seen: unknown[] = [];
  const config: Partial<HarnessRuntimeConfig> = {
    budgets: { maxRevisions: 2 },
    completionPolicy: {
      id: "judge",
      evaluate: ({ text, revision }) => {
        seen.push([text, revision]);
        return decisions[seen.length - 1] as CompletionDecision;
      },
    },
    ...more,
  };
  return { seen, config };
}

const ACCEPT: CompletionDecision = { action: "accept" };
const REVISE: CompletionDecision = { action: "revise", instruction: "shorter", reason: "too long" };

describe("CompletionPolicy", () => {
  test("E97 revise runs the instruction as the next turn, and each judgement is in the log", async () => {
    const { seen, config } = judged([REVISE, ACCEPT]);
    const runtime = runtimeOf((_services, { input }) => `re ${input}`, config);
    const handle = runtime.start("hello", OPTIONS);
    expect((await handle.result()).text).toBe("re shorter");
    expect(seen).toEqual([
      ["re hello", 0],
      ["re shorter", 1],
    ]);
    const judgements = (await eventsOf(handle))
      .map(({ payload }) => payload)
      .filter(({ type }) => type === "completion.evaluated");
    expect(judgements).toMatchObject([{ action: "revise", reason: "too long" }, { action: "accept" }]);
  });

  test("E98 more revisions than the budget allows end the run as stopped, with what there is", async () => {
    const { config } = judged([REVISE, REVISE, REVISE]);
    expect(await runOnce((_services, { input }) => `re ${input}`, config)).toMatchObject({
      status: "stopped",
      text: "re shorter",
      reason: { code: "revision_limit" },
    });
    // Half of a pair: what is stored of it differs from what the policy said.
    const { config: half } = judged([{ ...REVISE, instruction: "\ud83d" }, REVISE, REVISE], {
      budgets: { maxRevisions: 1 },
    });
    expect(await runOnce((_services, { input }) => `re ${input}`, half)).toMatchObject({
      text: "re \ufffd",
      reason: { code: "revision_limit" },
    });
    const { config: none } = judged([REVISE], { budgets: {} });
    expect(await runOnce(() => "x", none)).toMatchObject({ reason: { code: "revision_limit" } });
  });

  test("E99 stop ends the run as stopped", async () => {
    const { config } = judged([{ action: "stop", reason: "off topic" }]);
    expect(await runOnce(() => "x", config)).toMatchObject({
      status: "stopped",
      text: "x",
      reason: { code: "policy_stopped", message: "off topic" },
    });
  });

  test.each([undefined, { action: "shrug" } as never])("E100 an unknown decision fails the run", async (decision) => {
    const { config } = judged([decision]);
    expect(await runOnce(() => "x", config)).toMatchObject({ status: "failed", reason: { code: "execution_failed" } });
  });

  test("E101 a follow_up starts at revision 0 again", async () => {
    const { seen, config } = judged([REVISE, ACCEPT, ACCEPT]);
    const runtime = runtimeOf((_services, { input }) => `re ${input}`, config);
    const handle = runtime.start("hello", OPTIONS);
    await handle.send("next", { mode: "follow_up" });
    await handle.result();
    expect(seen).toEqual([
      ["re hello", 0],
      ["re shorter", 1],
      ["re next", 0],
    ]);
  });

  test("E101 a crash does not start the count of revisions anew, nor allow effects to a revision", async () => {
    const revising = Promise.withResolvers<void>();
    const seen: unknown[] = [];
    const ended = await overCrash({
      until: revising.promise,
      options: {
        tools: [tool("a")],
        grants: { toolIds: ["a"], modelRoles: [] },
        budgets: { maxRevisions: 1 },
        completionPolicy: {
          id: "judge",
          evaluate: ({ revision }) => {
            seen.push(revision);
            return REVISE;
          },
        },
      },
      driver: (life) => {
        const again = async (services: HarnessExecutionServices): Promise<string> => {
          const { denial } = await services.dispatch({ id: `c${life}`, name: "a", arguments: {} });
          return denial ?? "ran";
        };
        const durable = driver(async (services, { turn }) => {
          if (turn === 1) return "first";
          revising.resolve();
          return await untilAborted(services.signal);
        });
        return {
          ...durable,
          capabilities: { ...durable.capabilities, durable: true },
          resume: async (_request, services) => {
            seen.push(await again(services));
            return { text: "second" };
          },
        };
      },
    });
    expect(ended).toMatchObject({ error: { reason: FailureReason.REVISION_LIMIT } });
    expect(seen).toEqual([0, "policy", 1]);
  });

  test("E102 a revision has no new effects unless the host allows it", async () => {
    for (const allowRevisionEffects of [false, true]) {
      const { config } = judged([REVISE, ACCEPT], {
        tools: [tool("a")],
        grants: { toolIds: ["a"], modelRoles: [] },
        allowRevisionEffects,
      });
      const result = await runOnce(async (services) => {
        const { denial } = await services.dispatch({ id: `c${Math.random()}`, name: "a", arguments: {} });
        return denial ?? "ran";
      }, config);
      expect(result.text).toBe(allowRevisionEffects ? "ran" : "policy");
    }
  });

  test.each([
    ["a policy's await_input", judged([{ action: "await_input", question: "Which one?" }, ACCEPT]).config, "completed"],
    ["a driver's awaiting_input", {}, "awaiting_input"],
  ] as const)("E103 %s opens an INPUT action whose answer is the next turn", async (_what, config, status) => {
    const served = await openServed((_services, { input }) => {
      return input === "hello" ? { status, text: "Which one?" } : `chose ${input}`;
    }, config);
    const started = await served.start("hello");
    const action = await served.openAction(started.id);
    expect(action.title).toBe("Which one?");
    await served.respond(started.id, action.id, {
      value: create(ValueSchema, { kind: { case: "stringValue", value: "the red one" } }),
    });
    expect(await served.wait(started.id)).toMatchObject({ finalOutput: "chose the red one", turn: 2 });
  });
});

test("E104 awaiting_input is never terminal in the embedded runtime either", async () => {
  const runtime = runtimeOf(() => ({ status: "awaiting_input", text: "Which one?" }));
  const handle = runtime.start("hello", OPTIONS);
  expect(await eventOf(handle, "action.required")).toMatchObject({ action: { kind: "input", title: "Which one?" } });
  handle.cancel();
  expect((await handle.result()).status).toBe("cancelled");
});
