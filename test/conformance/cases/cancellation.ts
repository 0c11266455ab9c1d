import { describe, expect, test } from "vitest";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Script } from "../../../src/providers/scripted/script.js";
import type { Scene } from "../suite.js";
import { kindsOf, payloadsOf } from "../support/follow.js";
import { must, refusal, start } from "../support/stage.js";

export function testCancellation(scene: () => Scene): void {
  describe("cancellation", () => {
    const cancel = (executionId: string, reason = "", wait = false) =>
      scene().clients.executions.cancelExecution({ executionId, reason, wait });

    test.each<[string, Script, "runQueued" | "runStarted" | "actionRequired"]>([
      ["QUEUED", { steps: [{ sleep_ms: 60_000 }] }, "runQueued"],
      ["RUNNING", { steps: [{ text: "a" }, { sleep_ms: 60_000 }] }, "runStarted"],
      ["AWAITING_APPROVAL", { steps: [{ approval: {} }] }, "actionRequired"],
      ["AWAITING_INPUT", { steps: [{ input: {} }] }, "actionRequired"],
    ])("C01 in %s it ends CANCELLED with one terminal event and the reason", async (_, script, kind) => {
      const run = await start(scene().clients, script);
      await run.follower.until(kind);
      const { execution: recorded } = await cancel(run.id, "enough");
      expect([ExecutionState.CANCELLING, ExecutionState.CANCELLED]).toContain(recorded?.state);
      const { execution, events } = await run.finish();
      expect(execution).toMatchObject({
        state: ExecutionState.CANCELLED,
        cancel: { reason: "enough", principal: { tenantId: "acme", userId: "ann" } },
      });
      expect(execution.finalOutput).toBeUndefined();
      expect(kindsOf(events).indexOf("runCancelling")).toBeGreaterThan(0);
      expect(events.at(-1)?.payload).toMatchObject({ case: "runCancelled", value: { reason: "enough" } });
    });

    test("C02 of 50 concurrent cancels the first reason stands everywhere", async () => {
      const run = await start(scene().clients, { steps: [{ sleep_ms: 60_000 }] });
      await run.follower.until("runStarted");
      await Promise.all(Array.from({ length: 50 }, (_, index) => cancel(run.id, `reason ${index}`)));
      const { execution, events } = await run.finish();
      const reason = must(execution.cancel).reason;
      expect(payloadsOf(events, "runCancelling")).toMatchObject([{ reason }]);
      expect(payloadsOf(events, "runCancelled")).toMatchObject([{ reason }]);
    });

    test("C04 a success that comes after the abort ends CANCELLED", async () => {
      const run = await start(scene().clients, {
        steps: [{ ignore_abort: true }, { text: "a" }, { sleep_ms: 1_000 }, { text: "b" }],
      });
      await run.follower.until("outputTextDelta");
      const { execution } = await cancel(run.id, "", true);
      expect(execution?.state).toBe(ExecutionState.CANCELLED);
      await run.finish();
    });

    test("C04 a cancel after the end changes nothing", async () => {
      const run = await start(scene().clients, { steps: [{ text: "a" }] });
      const { execution: ended } = await run.finish();
      expect((await cancel(run.id, "late")).execution).toEqual(ended);
    });

    test("C06 a client that goes away cancels nothing", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ approval: {} }] });
      const { id: actionId } = await run.action();
      for await (const _ of clients.executions.watchEvents({ executionId: run.id })) break;
      expect((await run.get()).state).toBe(ExecutionState.AWAITING_APPROVAL);
      await clients.actions.respondAction({ executionId: run.id, actionId, response: { approved: true } });
      expect((await run.finish()).execution.state).toBe(ExecutionState.SUCCEEDED);
    });

    test("C06 an execution that nobody follows is cancelled where its policy says so", async () => {
      const { executions } = scene().clients;
      const { execution } = await executions.startExecution({
        providerId: "scripted",
        input: { text: "hi" },
        config: { steps: [{ sleep_ms: 60_000 }] },
        orphanPolicy: { cancelAfter: { seconds: 0n, nanos: 30_000_000 } },
      });
      const ended = await executions.waitExecution({ executionId: must(execution).id });
      expect(ended.execution?.state).toBe(ExecutionState.CANCELLED);
    });

    test("C07 cancelling a parent cancels its children", async () => {
      const { clients } = scene();
      const parent = await start(clients, { steps: [{ sleep_ms: 60_000 }] });
      const child = await start(clients, { steps: [{ sleep_ms: 60_000 }] }, { parentExecutionId: parent.id });
      expect(child.started).toMatchObject({ parentExecutionId: parent.id, rootExecutionId: parent.id });
      await cancel(parent.id, "both");
      expect((await parent.finish()).execution.state).toBe(ExecutionState.CANCELLED);
      expect((await child.finish()).execution.state).toBe(ExecutionState.CANCELLED);
    });

    test("a reason of 501 characters is refused", async () => {
      const run = await start(scene().clients, {});
      await run.finish();
      expect((await refusal(cancel(run.id, "x".repeat(501)))).reason).toBe("VALIDATION_ERROR");
    });
  });
}
