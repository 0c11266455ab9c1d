import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import type { ProviderContext, TurnOutcome } from "../../src/core/provider.js";
import { settle } from "./fake-clock.js";
import { aborted, manifest, only, openKit, provider } from "./kit.js";

const { FAILED, SUCCEEDED, CANCELLED } = ExecutionState;
const { ACCEPT, REVISE, STOP, AWAIT_INPUT, UNSPECIFIED } = CompletionAction;
const yes = fromJson(ValueSchema, "yes");

const judging = (action: CompletionAction, instruction = "go on"): TurnOutcome => ({
  status: "succeeded",
  evaluation: { action, reason: "because", instruction },
});
const asking = (key: unknown, title: string, more: object = {}) => ({
  status: "awaiting_input",
  request: { key, title, ...more },
});

describe("an outcome that breaks the contract ends FAILED, and the turn is not run again:", () => {
  test.each<[string, unknown, RegExp]>([
    ["an evaluation without an action", judging(UNSPECIFIED), /its evaluation has no action/],
    ["an evaluation with an action that is none", judging(9 as never), /its evaluation has no action/],
    ["an evaluation without a reason", { status: "succeeded", evaluation: { action: ACCEPT } }, /must be strings/],
    ["a revision with an instruction that is no text", judging(REVISE, 7 as never), /must be strings/],
    ["a question of its policy over 64 KiB", judging(AWAIT_INPUT, "x".repeat(70_000)), /more than 65536/],
    ["a question of its own over 64 KiB", asking("k", "x".repeat(70_000)), /more than 65536/],
    ["a question without a key", asking("", "?"), /1 to 200 characters/],
    ["a question under a key of 201 characters", asking("k".repeat(201), "?"), /1 to 200 characters/],
    ["a question under a key that is no text", asking(7, "?"), /1 to 200 characters/],
    ["a question without a title", asking("k", undefined as never), /without a title/],
    ["a question with a schema that is none", asking("k", "?", { inputSchema: { type: "no" } }), /cannot be kept/],
    ["no question at all", { status: "awaiting_input" }, /1 to 200 characters/],
  ])("%s", async (_, outcome, message) => {
    let calls = 0;
    const kit = await openKit({
      providers: [
        provider(async () => {
          calls++;
          return outcome;
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over).toMatchObject({
      state: FAILED,
      error: { reason: FailureReason.PROVIDER_PROTOCOL_VIOLATION, message: expect.stringMatching(message) },
    });
    expect(calls).toBe(1);
    expect(await kit.names(over.id)).not.toContain("action.required");
  });

  test.each<[string, string, unknown]>([
    ["an evaluation", "policy.completion", judging(ACCEPT)],
    ["a question of its policy", "action.input", judging(AWAIT_INPUT)],
    ["a question of its own", "action.input", asking("k", "?")],
  ])("P03 %s without the capability %s", async (_, capability, outcome) => {
    const lacking = manifest("test", { [capability]: SupportLevel.UNSUPPORTED });
    const kit = await openKit({ providers: [provider(async () => outcome, { manifest: lacking })] });
    expect(await kit.over((await kit.start()).id)).toMatchObject({
      state: FAILED,
      error: { reason: FailureReason.PROVIDER_PROTOCOL_VIOLATION, message: expect.stringContaining(capability) },
    });
  });
});

describe("what a provider says it used, where no model call was counted, is the usage of an execution that", () => {
  const usage = { totalTokens: 30, cost: { currency: "USD", micros: 5n } };
  const expected = { totalTokens: 30, cost: { currency: "USD", micros: 5n } };

  test.each<[string, TurnOutcome]>([
    ["failed", { status: "failed", message: "no", usage }],
    ["was cancelled unasked", { status: "cancelled", usage }],
    ["was stopped by its policy", { ...judging(STOP), usage } as TurnOutcome],
    ["made too large a result", { status: "succeeded", structuredOutput: "x".repeat(70_000), usage }],
  ])("%s", async (_, outcome) => {
    const kit = await openKit({ providers: [provider(async () => outcome)] });
    const over = await kit.over((await kit.start()).id);
    expect(over).toMatchObject({ state: FAILED, usage: expected });
    expect(only(await kit.events(over.id), "runFailed").usage).toMatchObject(expected);
  });

  const stopping = async ({ signal }: ProviderContext): Promise<TurnOutcome> => {
    await aborted(signal);
    return { status: "cancelled", usage };
  };

  test("was cancelled", async () => {
    const kit = await openKit({ providers: [provider(stopping)] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    expect(await kit.cancel(id, "", true)).toMatchObject({ state: CANCELLED, usage: expected });
    expect(only(await kit.events(id), "runCancelled").usage).toMatchObject(expected);
  });

  test("passed its deadline", async () => {
    const kit = await openKit({ providers: [provider(stopping)] });
    const { id } = await kit.start({ timeout: { seconds: 1n, nanos: 0 } });
    await kit.until(id, "run.started");
    await kit.fake.advance(1_000);
    expect(await kit.over(id)).toMatchObject({ state: FAILED, usage: expected });
  });

  test.each<[string, TurnOutcome]>([
    ["a question", { ...asking("k", "?"), usage } as TurnOutcome],
    ["a question of its policy", { ...judging(AWAIT_INPUT), usage } as TurnOutcome],
    ["a revision", { ...judging(REVISE), usage } as TurnOutcome],
  ])("ended without another word of it after %s, also over a kill", async (_, outcome) => {
    const kit = await openKit({
      providers: [
        provider(async ({ turn, attempt, signal }) => {
          if (turn === 1) return outcome;
          if (attempt === 1) await aborted(signal);
          throw new Error("no");
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "completion.evaluated");
    await settle();
    for (const action of await kit.actions(id)) await kit.respond(action, { value: yes });
    await settle();
    await kit.crash();
    expect(await kit.over(id)).toMatchObject({ state: FAILED, turn: 2, attempt: 2, usage: expected });
  });

  test("succeeded in a later turn that says nothing of it", async () => {
    const kit = await openKit({
      providers: [provider(async ({ turn }) => (turn === 1 ? { ...judging(REVISE), usage } : undefined))],
    });
    expect(await kit.over((await kit.start()).id)).toMatchObject({ state: SUCCEEDED, usage: expected });
  });
});

test("a counted model call goes before what the provider says it used, however the execution ends", async () => {
  const kit = await openKit({
    providers: [
      provider(async (context) => {
        await context.emit({ case: "modelCompleted", value: { model: "m", usage: { totalTokens: 7 } } });
        return { status: "failed", message: "no", usage: { totalTokens: 30 } };
      }),
    ],
  });
  const over = await kit.over((await kit.start()).id);
  expect(over.usage).toMatchObject({ totalTokens: 7, modelCalls: 1 });
});
