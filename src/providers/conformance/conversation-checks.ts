import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Check, mustEnd } from "./check.js";
import { fail, startRun } from "./scene.js";

/** That the executions of a conversation belong together. */
export const CONVERSATION_CHECKS: readonly Check[] = [
  {
    title: "executions of one conversation run one at a time, in order",
    capability: "conversation.continuity",
    async run(scene) {
      const first = await startRun(scene, scene.situations.long);
      await first.until("text", () => first.text !== "");
      const second = await startRun(scene, scene.situations.text, { conversationId: first.conversationId });
      const { state } = await scene.runtime.getExecution(scene.caller, second.id);
      if (state !== ExecutionState.QUEUED) fail(`the second is ${ExecutionState[state]} while the first runs`);
      await first.cancel();
      await mustEnd(first, ExecutionState.CANCELLED);
      await mustEnd(second, ExecutionState.SUCCEEDED);
      return undefined;
    },
  },
  {
    title: "a conversation remembers what was said in its earlier executions",
    capability: "conversation.continuity",
    situation: "memory",
    async run(scene) {
      const { memory, text } = scene.situations;
      const told = await startRun(scene, memory?.tell ?? text);
      await mustEnd(told, ExecutionState.SUCCEEDED);
      const asked = await startRun(scene, memory?.ask ?? text, { conversationId: told.conversationId });
      await mustEnd(asked, ExecutionState.SUCCEEDED);
      return asked.text.includes(memory?.answer ?? "") ? undefined : SupportLevel.DEGRADED;
    },
  },
];
