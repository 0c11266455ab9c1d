import { describe, expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { ProviderEvent } from "../../src/core/provider.js";
import { openKit, provider } from "./kit.js";

const { FAILED, SUCCEEDED } = ExecutionState;
const KINDS = ["outputTextDelta", "outputReasoningDelta", "outputTextDone"] as const;

function emitting(...events: readonly ProviderEvent[]) {
  return provider(async (context) => await context.emit(events).catch(() => undefined));
}

describe("an item_id", () => {
  const bad = ["x".repeat(201), "\u{1f642}".repeat(201), "x".repeat(300_000), 7 as never];
  test.each(KINDS.flatMap((kind) => bad.map((itemId) => [kind, itemId] as const)))(
    "L07 of %s that is no text of at most 200 characters is a violation, and nothing is appended",
    async (kind, itemId) => {
      const kit = await openKit({
        providers: [emitting({ case: kind, value: { text: "hello", itemId } } as ProviderEvent)],
      });
      const over = await kit.over((await kit.start()).id);
      expect(over).toMatchObject({
        state: FAILED,
        error: {
          reason: FailureReason.PROVIDER_PROTOCOL_VIOLATION,
          message: expect.stringMatching(/item_id must be a string/),
        },
      });
      expect(await kit.names(over.id)).toEqual(["run.queued", "run.starting", "run.started", "run.failed"]);
    },
  );

  test.each(KINDS)("of %s has up to 200 characters, however many bytes they take", async (kind) => {
    const itemId = "\u{1f642}".repeat(200);
    const kit = await openKit({
      providers: [emitting({ case: kind, value: { text: "hello", itemId } } as ProviderEvent)],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over.state).toBe(SUCCEEDED);
    expect((await kit.events(over.id))[3]?.payload).toMatchObject({ case: kind, value: { itemId } });
  });
});

test("an empty delta is not appended; what was emitted with it is", async () => {
  const kit = await openKit({
    providers: [
      emitting(
        { case: "outputTextDelta", value: { text: "" } },
        { case: "outputReasoningDelta", value: { text: "", itemId: "thought" } },
        { case: "outputTextDelta", value: { text: "said" } },
      ),
    ],
  });
  const over = await kit.over((await kit.start()).id);
  expect(over).toMatchObject({ state: SUCCEEDED, finalOutput: "said" });
  expect((await kit.names(over.id)).slice(3, -2)).toEqual(["output.text.delta"]);
});

describe("model_completed", () => {
  const completed = (usage?: object): ProviderEvent => ({
    case: "modelCompleted",
    value: { model: "m", ...(usage === undefined ? {} : { usage }) },
  });

  test("stands for the calls that it says, for one where it says none, and for no tool calls", async () => {
    const kit = await openKit({
      providers: [emitting(completed(), completed({ modelCalls: 0 }), completed({ modelCalls: 3, toolCalls: 5 }))],
    });
    expect((await kit.over((await kit.start()).id)).usage).toMatchObject({ modelCalls: 5, toolCalls: 0 });
  });

  test("L12 exhausts a budget with all the calls that it stands for", async () => {
    const kit = await openKit({ providers: [emitting(completed({ modelCalls: 3 }))] });
    const { id } = await kit.start({ budgets: { maxModelCalls: 2 } });
    expect(await kit.over(id)).toMatchObject({
      state: FAILED,
      error: { reason: FailureReason.BUDGET_EXHAUSTED, message: "max_model_calls is 2 and 3 were used" },
    });
  });
});
