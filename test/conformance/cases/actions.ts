import { type JsonValue, toJsonString } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ActionKind, ActionRequestSchema, ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ActionTimeoutPolicy } from "../../../gen/ts/harnessruntime/v1/policy_pb.js";
import type { Scene } from "../suite.js";
import { kindsOf, payloadsOf } from "../support/follow.js";
import { must, nextOf, refusal, start } from "../support/stage.js";

const OPTIONS = [
  { id: "yes", label: "Yes", kind: "ACTION_OPTION_KIND_ALLOW_ONCE" },
  { id: "no", label: "No", kind: "ACTION_OPTION_KIND_REJECT_ONCE" },
];
const value = (json: JsonValue) => ({ kind: { case: "stringValue" as const, value: String(json) } });

export function testActions(scene: () => Scene): void {
  describe("actions", () => {
    test("A01 A02 an approval is awaited, shown whole, answered once, and the run goes on", async () => {
      const { clients } = scene();
      const approval = {
        key: "k",
        title: "Delete?",
        description: "all of it",
        payload: { path: "/x" },
        options: OPTIONS,
      };
      const run = await start(clients, { steps: [{ approval }, { text: "done" }] });
      const action = await run.action();
      expect(action).toMatchObject({
        executionId: run.id,
        kind: ActionKind.APPROVAL,
        title: "Delete?",
        description: "all of it",
        payload: { path: "/x" },
        options: [{ id: "yes" }, { id: "no" }],
        state: ActionState.PENDING,
      });
      expect(await run.get()).toMatchObject({
        state: ExecutionState.AWAITING_APPROVAL,
        openActions: [{ id: action.id }],
      });
      const response = { optionId: "yes" };
      const answered = await clients.actions.respondAction({ executionId: run.id, actionId: action.id, response });
      expect(answered.action).toMatchObject({
        state: ActionState.RESPONDED,
        approved: true,
        optionId: "yes",
        responder: { tenantId: "acme", userId: "ann" },
      });
      expect(answered.execution?.state).not.toBe(ExecutionState.AWAITING_APPROVAL);
      const { execution, events } = await run.finish();
      expect(execution).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "done" });
      expect(payloadsOf(events, "actionResponded")).toMatchObject([
        { actionId: action.id, approved: true, optionId: "yes" },
      ]);
    });

    test("A01 an input is awaited, and its value never shown again", async () => {
      const { clients } = scene();
      const run = await start(clients, {
        steps: [{ input: { title: "Name?", schema: { type: "string", minLength: 3 } } }],
      });
      const action = await run.action();
      expect(await run.get()).toMatchObject({ state: ExecutionState.AWAITING_INPUT });
      const respond = (answer: JsonValue) =>
        clients.actions.respondAction({ executionId: run.id, actionId: action.id, response: { value: value(answer) } });
      expect((await refusal(respond("ab"))).reason).toBe("VALIDATION_ERROR");
      await respond("secret");
      const { execution, events } = await run.finish();
      expect(execution.finalOutput).toBe("secret");
      const [responded] = payloadsOf(events, "actionResponded");
      expect(responded?.value).toBeUndefined();
      const { action: shown } = await clients.actions.getAction({ executionId: run.id, actionId: action.id });
      expect(toJsonString(ActionRequestSchema, must(shown))).not.toContain("secret");
    });

    test("A02 of 100 concurrent answers one is accepted, and the rest are told who was first", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ approval: {} }] });
      const { id: actionId } = await run.action();
      const answers = await Promise.allSettled(
        Array.from({ length: 100 }, (_, index) =>
          clients.actions.respondAction({ executionId: run.id, actionId, response: { approved: index % 2 === 0 } }),
        ),
      );
      expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as unknown] : []));
      for (const error of refused.slice(0, 3)) {
        expect(await refusal(Promise.reject(error))).toMatchObject({
          reason: "ACTION_ALREADY_RESOLVED",
          metadata: {
            responder: "ann",
            approved: expect.stringMatching(/true|false/),
            respond_time: expect.any(String),
          },
        });
      }
      const { events } = await run.finish();
      expect(payloadsOf(events, "actionResponded")).toHaveLength(1);
    });

    test("A03 an answer that does not fit is VALIDATION_ERROR and the action stays open", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ approval: { options: OPTIONS } }] });
      const { id: actionId } = await run.action();
      const respond = (response: object) => clients.actions.respondAction({ executionId: run.id, actionId, response });
      for (const response of [{}, { value: value("x") }, { optionId: "maybe" }, { approved: true, optionId: "no" }]) {
        expect((await refusal(respond(response))).reason).toBe("VALIDATION_ERROR");
      }
      expect((await refusal(clients.actions.respondAction({ executionId: run.id, actionId }))).reason).toBe(
        "VALIDATION_ERROR",
      );
      expect((await run.get()).openActions).toHaveLength(1);
      await respond({ approved: false });
      const { execution } = await run.finish();
      expect(execution.error?.reason).toBe(FailureReason.PROVIDER_ERROR);
    });

    test("A04 a second answer is refused after the end, and another execution's action is not found", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ approval: {} }] });
      const { id: actionId } = await run.action();
      const respond = (executionId: string) =>
        clients.actions.respondAction({ executionId, actionId, response: { approved: true } });
      const other = await start(clients, {});
      await other.finish();
      expect((await refusal(respond(other.id))).reason).toBe("ACTION_NOT_FOUND");
      expect((await refusal(respond("none"))).reason).toMatch(/NOT_FOUND/);
      await respond(run.id);
      await run.finish();
      expect((await refusal(respond(run.id))).reason).toBe("ACTION_ALREADY_RESOLVED");
    });

    test("A05 an action that a cancel abandoned is ACTION_CLOSED", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ approval: {} }] });
      const { id: actionId } = await run.action();
      await clients.executions.cancelExecution({ executionId: run.id });
      const { events } = await run.finish();
      expect(kindsOf(events)).toContain("actionAbandoned");
      const late = clients.actions.respondAction({ executionId: run.id, actionId, response: { approved: true } });
      expect((await refusal(late)).reason).toBe("ACTION_CLOSED");
      const { action } = await clients.actions.getAction({ executionId: run.id, actionId });
      expect(action?.state).toBe(ActionState.ABANDONED);
    });

    test.each([
      ["DENY", ActionTimeoutPolicy.DENY, ExecutionState.SUCCEEDED],
      ["FAIL", ActionTimeoutPolicy.FAIL, ExecutionState.FAILED],
      ["CANCEL", ActionTimeoutPolicy.CANCEL, ExecutionState.CANCELLED],
    ])("A05 an action that nobody answers ends as on_timeout %s says", async (_, onTimeout, state) => {
      const actionPolicy = { timeout: { seconds: 0n, nanos: 20_000_000 }, onTimeout };
      const steps = [{ approval: { if_denied: "continue" as const } }];
      const { execution, events } = await (await start(scene().clients, { steps }, { actionPolicy })).finish();
      expect(execution.state).toBe(state);
      if (state === ExecutionState.CANCELLED) expect(execution.cancel?.reason).toBe("action_timeout");
      else expect(kindsOf(events)).toContain("actionExpired");
    });

    test("A08 open actions of all executions are listed and watched", async () => {
      const { clients } = scene();
      const run = await start(clients, { steps: [{ approval: { title: "inbox" } }] });
      const { id: actionId } = await run.action();
      const { actions } = await clients.actions.listActions({ executionId: run.id });
      expect(actions.map(({ id }) => id)).toEqual([actionId]);
      const view = clients.actions.watchActions({ executionId: run.id })[Symbol.asyncIterator]();
      const shown = await nextOf(view, ({ actions }) => actions.length > 0);
      expect(shown.actions).toMatchObject([{ id: actionId, title: "inbox" }]);
      await clients.actions.respondAction({ executionId: run.id, actionId, response: { approved: true } });
      expect((await nextOf(view, ({ removedIds }) => removedIds.length > 0)).removedIds).toEqual([actionId]);
      await view.return?.();
      await run.finish();
      expect((await clients.actions.listActions({ executionId: run.id })).actions).toEqual([]);
      const { actions: all } = await clients.actions.listActions({
        executionId: run.id,
        states: [ActionState.RESPONDED],
      });
      expect(must(all[0]).id).toBe(actionId);
    });
  });
}
