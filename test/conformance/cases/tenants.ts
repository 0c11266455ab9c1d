import { describe, expect, test } from "vitest";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { Scene } from "../suite.js";
import { follow } from "../support/follow.js";
import { must, refusal, start, untilSynced } from "../support/stage.js";
import type { Clients } from "../support/target.js";

export function testTenants(scene: () => Scene): void {
  describe("tenants", () => {
    test("W05 another tenant's resources are NOT_FOUND in the words for one that never was, and are in no list", async () => {
      const { clients, rival } = scene();
      const run = await start(clients, {
        steps: [{ artifact: { id: "a", name: "a", media_type: "a/a" } }, { approval: {} }],
      });
      const { id: actionId } = await run.action();
      const conversationId = run.started.conversationId;
      const messageOf = (call: Promise<unknown>): Promise<string> => call.then(String, (error: Error) => error.message);
      const stolen = callsTo(rival, run.id, actionId, conversationId);
      const refusals = await Promise.all(stolen.map(refusal));
      for (const { reason } of refusals) expect(reason).toMatch(/^(ACTION_)?NOT_FOUND$/);
      const words = (text: string): string =>
        text.replaceAll(run.id, "ID").replaceAll(conversationId, "ID").replaceAll("never", "ID");
      const theirs = await Promise.all(stolen.map(messageOf));
      const never = await Promise.all(callsTo(rival, "never", actionId, "never").map(messageOf));
      expect(theirs.map(words)).toEqual(never.map(words));

      const listed = await rival.executions.listExecutions({ conversationId });
      const actions = await rival.actions.listActions({ executionId: run.id });
      expect([listed.executions, actions.actions]).toEqual([[], []]);
      const views = [
        ...(await untilSynced(rival.executions.watchExecutions({ conversationId }))),
        ...(await untilSynced(rival.actions.watchActions({ executionId: run.id }))),
      ];
      expect(
        views.map((update) => ("executions" in update ? update.executions : update.actions).length).filter(Boolean),
      ).toEqual([]);
      await clients.executions.cancelExecution({ executionId: must(run.id) });
      await run.finish();
    });
  });
}

/** Every call that names a resource, by another tenant. */
function callsTo(rival: Clients, executionId: string, actionId: string, conversationId: string): Promise<unknown>[] {
  const input = { text: "x" };
  const start = { providerId: "scripted", input };
  return [
    rival.executions.getExecution({ executionId }),
    rival.executions.waitExecution({ executionId }),
    rival.executions.cancelExecution({ executionId }),
    rival.executions.sendInput({ executionId, input, mode: InputMode.STEER }),
    rival.executions.withdrawInput({ executionId, inputId: "x" }),
    rival.executions.listEvents({ executionId }),
    follow(rival.executions.watchEvents({ executionId })).end(),
    rival.executions.listArtifacts({ executionId }),
    rival.executions.getArtifact({ executionId, artifactId: "a" }),
    rival.actions.respondAction({ executionId, actionId, response: { approved: true } }),
    rival.actions.getAction({ executionId, actionId }),
    rival.conversations.getConversation({ conversationId }),
    rival.executions.startExecution({ ...start, conversationId }),
    rival.executions.startExecution({ ...start, parentExecutionId: executionId }),
  ];
}
