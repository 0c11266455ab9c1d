import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { type Check, mustEnd, refused } from "./check.js";
import { type CheckedRun, fail, type Scene, startRun } from "./scene.js";

/** That an execution waits for people. */
export const ACTION_CHECKS: readonly Check[] = [
  {
    title: "A02 an approval parks the execution until it is answered, and a second answer is refused",
    capability: "action.approval",
    situation: "approval",
    async run(scene) {
      const run = await startApproval(scene);
      const action = await run.action();
      const parked = await scene.runtime.getExecution(scene.caller, run.id);
      if (parked.state !== ExecutionState.AWAITING_APPROVAL) fail(`its state is ${ExecutionState[parked.state]}`);
      await run.respond(action.id, { approved: true });
      await refused(ErrorReason.ACTION_ALREADY_RESOLVED, () => run.respond(action.id, { approved: false }));
      await answerRest(run);
      await mustEnd(run, ExecutionState.SUCCEEDED);
      return undefined;
    },
  },
  {
    title: "a denied approval is not the end of the execution, nor a fault",
    capability: "action.approval",
    situation: "approval",
    async run(scene) {
      const run = await startApproval(scene);
      await run.respond((await run.action()).id, { approved: false });
      await answerRest(run);
      await mustEnd(run, ExecutionState.SUCCEEDED);
      return undefined;
    },
  },
  {
    title: "A05 an approval that is open when its execution is cancelled takes no answer any more",
    capability: "action.approval",
    situation: "approval",
    async run(scene) {
      const run = await startApproval(scene);
      const action = await run.action();
      await run.cancel();
      await mustEnd(run, ExecutionState.CANCELLED);
      await refused(ErrorReason.ACTION_CLOSED, () => run.respond(action.id, { approved: true }));
      return undefined;
    },
  },
  {
    title: "A02 an input parks the execution until it is answered",
    capability: "action.input",
    situation: "input",
    async run(scene) {
      const { input, inputValue = "yes", text } = scene.situations;
      const run = await startRun(scene, input ?? text);
      await run.respond((await run.action()).id, { value: inputValue });
      await mustEnd(run, ExecutionState.SUCCEEDED);
      return undefined;
    },
  },
];

function startApproval(scene: Scene): Promise<CheckedRun> {
  return startRun(scene, scene.situations.approval ?? scene.situations.text);
}

/** Says no to whatever else is asked, until the end. */
async function answerRest(run: CheckedRun): Promise<void> {
  const answered = new Set<string>();
  while (!run.isOver) {
    const open = run.events.flatMap(({ payload }) =>
      payload.case === "actionRequired" ? (payload.value.action ?? []) : [],
    );
    for (const { id } of open) {
      if (answered.has(id)) continue;
      answered.add(id);
      await run.respond(id, { approved: false }).catch(() => undefined);
    }
    const seen = run.events.length;
    await run.until("it goes on", () => run.isOver || run.events.length > seen);
  }
}
