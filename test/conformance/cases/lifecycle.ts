import { describe, expect, test } from "vitest";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Script } from "../../../src/providers/scripted/script.js";
import type { Scene } from "../suite.js";
import { kindsOf, payloadsOf } from "../support/follow.js";
import { start } from "../support/stage.js";

export function testLifecycle(scene: () => Scene): void {
  describe("lifecycle and events", () => {
    test("L01 a valid start returns QUEUED, and event 1 is run_queued with the provider", async () => {
      const run = await start(scene().clients, {});
      expect(run.started).toMatchObject({ state: ExecutionState.QUEUED, providerId: "scripted", attempt: 1, turn: 1 });
      expect(run.started.rootExecutionId).toBe(run.id);
      const { events } = await run.finish();
      expect(events[0]?.payload).toMatchObject({ case: "runQueued", value: { providerId: "scripted" } });
    });

    test("L02 L03 a success ends with output_text_done and run_completed, which carry the final output", async () => {
      const { execution, events } = await (
        await start(scene().clients, { steps: [{ text: "a " }, { text: "b" }] })
      ).finish();
      expect(kindsOf(events)).toEqual([
        "runQueued",
        "runStarting",
        "runStarted",
        "outputTextDelta",
        "outputTextDelta",
        "outputTextDone",
        "runCompleted",
      ]);
      expect(events.at(-2)?.payload.value).toMatchObject({ itemId: "", text: "a b" });
      expect(events.at(-1)?.payload.value).toMatchObject({ finalOutput: "a b", finalOutputTruncated: false });
      expect(execution).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "a b" });
    });

    test("L03 a failure has no final output", async () => {
      const { execution, events } = await (
        await start(scene().clients, { steps: [{ text: "a" }, { fail: "no" }] })
      ).finish();
      expect(kindsOf(events)).not.toContain("outputTextDone");
      expect(execution.finalOutput).toBeUndefined();
      expect(payloadsOf(events, "runFailed")[0]).toMatchObject({ partialOutput: "a" });
    });

    test("L04 a provider that returns nothing succeeds with an empty output", async () => {
      const { execution } = await (await start(scene().clients, { steps: [] })).finish();
      expect(execution).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "" });
    });

    test.each<[string, Script, FailureReason, string | RegExp]>([
      ["L05 that throws", { steps: [{ throw: "boom" }] }, FailureReason.PROVIDER_ERROR, "boom"],
      ["L05 that throws nothing to say", { steps: [{ throw: "" }] }, FailureReason.PROVIDER_ERROR, /./],
      ["L05 that fails", { steps: [{ fail: "no" }] }, FailureReason.PROVIDER_ERROR, "no"],
      [
        "L07 that emits a kind of the runtime's and swallows the refusal",
        { steps: [{ emit_reserved: "run.completed" }, { text: "go on" }] },
        FailureReason.PROVIDER_PROTOCOL_VIOLATION,
        /./,
      ],
      [
        "A06 that returns with an open action",
        { steps: [{ return_open_action: true }] },
        FailureReason.PROVIDER_PROTOCOL_VIOLATION,
        /./,
      ],
    ])("a provider %s is FAILED, and the event says what the execution says", async (_, script, reason, message) => {
      const { execution, events } = await (await start(scene().clients, script)).finish();
      expect(execution).toMatchObject({ state: ExecutionState.FAILED, error: { reason } });
      expect(execution.error?.message).toMatch(message);
      expect(events.at(-1)?.payload).toMatchObject({
        case: "runFailed",
        value: { reason, message: execution.error?.message },
      });
    });

    test("L06 an emission after the end appends nothing", async () => {
      const run = await start(scene().clients, { steps: [{ emit_after_end: true }, { text: "a" }] });
      const { execution } = await run.finish();
      expect(execution.state).toBe(ExecutionState.SUCCEEDED);
      expect((await run.get()).lastSequence).toBe(execution.lastSequence);
    });

    test("L11 a long output is cut to 64 KiB at a code point, and the deltas have it whole", async () => {
      const run = await start(scene().clients, { steps: [{ text: "😀".repeat(100_000) }] });
      const { execution, events } = await run.finish();
      const whole = payloadsOf(events, "outputTextDelta").map(({ text }) => text);
      expect(whole.join("")).toBe("😀".repeat(100_000));
      expect(execution).toMatchObject({ finalOutput: "😀".repeat(16_384), finalOutputTruncated: true });
    });

    test("L11 a structured output over 64 KiB ends FAILED with OUTPUT_TOO_LARGE", async () => {
      const run = await start(scene().clients, { steps: [], structured_output: "x".repeat(100_000) });
      const { execution } = await run.finish();
      expect(execution.error?.reason).toBe(FailureReason.OUTPUT_TOO_LARGE);
    });

    test("L12 a budget and a deadline end FAILED with their reasons", async () => {
      const usage = { usage: { total_tokens: 100 } };
      const spent = await start(scene().clients, { steps: [usage, { text: "a" }] }, { budgets: { maxTokens: 99 } });
      expect((await spent.finish()).execution.error?.reason).toBe(FailureReason.BUDGET_EXHAUSTED);
      const timeout = { seconds: 0n, nanos: 30_000_000 };
      const late = await start(scene().clients, { steps: [{ sleep_ms: 60_000 }] }, { timeout });
      expect((await late.finish()).execution.error?.reason).toBe(FailureReason.DEADLINE_EXCEEDED);
    });

    test("every kind of provider event arrives with its data", async () => {
      const call = { id: "c1", name: "search", kind: "fetch", input: { q: ["x"] }, output: 7 };
      const steps: Script["steps"] = [
        { reasoning: "hm" },
        { tool_call: call },
        { usage: { prompt_tokens: 2, completion_tokens: 3 } },
      ];
      const { execution, events } = await (
        await start(scene().clients, { steps, structured_output: { ok: true } })
      ).finish();
      expect(payloadsOf(events, "outputReasoningDelta")).toMatchObject([{ text: "hm" }]);
      expect(payloadsOf(events, "toolCallStarted")).toMatchObject([
        { toolCallId: "c1", name: "search", kind: "fetch" },
      ]);
      expect(payloadsOf(events, "toolCallCompleted")).toMatchObject([
        { toolCallId: "c1", output: { kind: { case: "numberValue", value: 7 } }, denied: false, error: "" },
      ]);
      expect(payloadsOf(events, "modelCompleted")).toMatchObject([{ usage: { promptTokens: 2, completionTokens: 3 } }]);
      expect(execution.usage).toMatchObject({ totalTokens: 5, modelCalls: 1, toolCalls: 1 });
      expect(execution.structuredOutput).toMatchObject({ kind: { case: "structValue" } });
    });

    test("WaitExecution returns at the end, or the current state after its timeout", async () => {
      const run = await start(scene().clients, { steps: [{ approval: { title: "go?" } }] });
      const action = await run.action();
      const { executions, actions } = scene().clients;
      const timeout = { seconds: 0n, nanos: 1_000_000 };
      const waiting = await executions.waitExecution({ executionId: run.id, timeout });
      expect(waiting.execution?.state).toBe(ExecutionState.AWAITING_APPROVAL);
      const ended = executions.waitExecution({ executionId: run.id });
      await actions.respondAction({ executionId: run.id, actionId: action.id, response: { approved: true } });
      expect((await ended).execution?.state).toBe(ExecutionState.SUCCEEDED);
    });
  });
}
