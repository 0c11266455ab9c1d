import { describe, expect, test } from "vitest";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputDropReason, InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { Scene } from "../suite.js";
import { kindsOf, payloadsOf } from "../support/follow.js";
import { type Run, refusal, start } from "../support/stage.js";

export function testInput(scene: () => Scene): void {
  describe("input", () => {
    const send = (run: Run, text: string, mode: InputMode, idempotencyKey?: string) =>
      scene().clients.executions.sendInput({
        executionId: run.id,
        input: { text },
        mode,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      });

    test("N01 a follow-up runs as the next turn of the same execution", async () => {
      const run = await start(scene().clients, { steps: [{ text: "one" }, { await_steer: true }] });
      await run.follower.until("outputTextDelta");
      const { inputId, sequence } = await send(run, "again", InputMode.FOLLOW_UP);
      await send(run, "!", InputMode.STEER);
      const { execution, events } = await run.finish();
      expect(execution).toMatchObject({ state: ExecutionState.SUCCEEDED, turn: 2, finalOutput: "again" });
      expect(events[sequence - 1]?.payload).toMatchObject({ case: "inputAccepted", value: { inputId } });
      const consumed = payloadsOf(events, "inputConsumed");
      expect(consumed.map(({ turn }) => turn)).toEqual([1, 2]);
    });

    test("N01 steers arrive in order", async () => {
      const steps = [{ await_steer: true as const }, { await_steer: true as const }];
      const run = await start(scene().clients, { steps });
      await run.follower.until("runStarted");
      await send(run, "a", InputMode.STEER);
      await send(run, "b", InputMode.STEER);
      expect((await run.finish()).execution.finalOutput).toBe("ab");
    });

    test("N01 a replace interrupts the turn, abandons its action, and the new input runs", async () => {
      const run = await start(scene().clients, { steps: [{ text: "old" }, { approval: {} }] });
      await run.action();
      await send(run, "new words", InputMode.REPLACE);
      const { execution, events } = await run.finish();
      expect(execution).toMatchObject({ turn: 2, finalOutput: "new words" });
      expect(payloadsOf(events, "inputConsumed")).toMatchObject([{ turn: 2, supersededTurn: 1 }]);
      expect(kindsOf(events)).toContain("actionAbandoned");
    });

    test("N02 an input that is withdrawn, or left at the end, is dropped with an event", async () => {
      const { executions } = scene().clients;
      const run = await start(scene().clients, { steps: [{ approval: {} }] });
      await run.action();
      const { inputId } = await send(run, "x", InputMode.FOLLOW_UP);
      await executions.withdrawInput({ executionId: run.id, inputId });
      const unknown = executions.withdrawInput({ executionId: run.id, inputId: "none" });
      expect(await refusal(unknown)).toEqual({ reason: "NOT_FOUND", metadata: { resource: "input", id: "none" } });
      await send(run, "y", InputMode.FOLLOW_UP);
      await executions.cancelExecution({ executionId: run.id });
      const { events } = await run.finish();
      expect(payloadsOf(events, "inputDropped").map(({ reason }) => reason)).toEqual([
        InputDropReason.WITHDRAWN,
        InputDropReason.EXECUTION_ENDED,
      ]);
    });

    test("N02 a consumed input cannot be withdrawn", async () => {
      const run = await start(scene().clients, { steps: [{ await_steer: true }, { approval: {} }] });
      await run.follower.until("runStarted");
      const { inputId } = await send(run, "x", InputMode.STEER);
      await run.follower.until("inputConsumed");
      const withdraw = scene().clients.executions.withdrawInput({ executionId: run.id, inputId });
      expect((await refusal(withdraw)).reason).toBe("INVALID_STATE");
      await scene().clients.executions.cancelExecution({ executionId: run.id });
      await run.finish();
    });

    test("N03 the 33rd is refused, and so is one without a mode or to an execution that has ended", async () => {
      const run = await start(scene().clients, { steps: [{ approval: {} }] });
      await run.action();
      for (let index = 0; index < 32; index++) await send(run, `${index}`, InputMode.FOLLOW_UP);
      expect((await refusal(send(run, "33", InputMode.FOLLOW_UP))).reason).toBe("INPUT_QUEUE_FULL");
      expect((await refusal(send(run, "x", InputMode.UNSPECIFIED))).reason).toBe("VALIDATION_ERROR");
      await scene().clients.executions.cancelExecution({ executionId: run.id });
      await run.finish();
      expect(await refusal(send(run, "late", InputMode.FOLLOW_UP))).toMatchObject({
        reason: "INVALID_STATE",
        metadata: { state: "CANCELLED" },
      });
    });

    test("N03 the same key twice is one input", async () => {
      const run = await start(scene().clients, { steps: [{ approval: {} }] });
      await run.action();
      const first = await send(run, "x", InputMode.FOLLOW_UP, "k");
      const second = await send(run, "x", InputMode.FOLLOW_UP, "k");
      expect([second.inputId, second.sequence]).toEqual([first.inputId, first.sequence]);
      expect((await refusal(send(run, "y", InputMode.FOLLOW_UP, "k"))).reason).toBe("IDEMPOTENCY_CONFLICT");
      await scene().clients.executions.cancelExecution({ executionId: run.id });
      const { events } = await run.finish();
      expect(payloadsOf(events, "inputAccepted")).toHaveLength(1);
    });

    test("N04 sends that race the end are refused, or consumed or dropped with an event", async () => {
      const run = await start(scene().clients, { steps: [{ flood: { count: 40, bytes: 10 } }] });
      const sends = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) => send(run, `${index}`, InputMode.STEER)),
      );
      const { events } = await run.finish();
      const accepted = sends.filter(({ status }) => status === "fulfilled");
      expect(payloadsOf(events, "inputAccepted")).toHaveLength(accepted.length);
    });
  });
}
