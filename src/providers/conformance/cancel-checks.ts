import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel, Topology } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Check, mustEnd } from "./check.js";
import { fail, startRun } from "./scene.js";

/** That an execution is cancelled, and what that leaves. */
export const CANCEL_CHECKS: readonly Check[] = [
  {
    title: "C01 a running execution is cancelled, and nothing of it is left running",
    capability: "execution.cancel",
    async run(scene) {
      const before = await scene.processes?.marks();
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.text !== "");
      const during = await scene.processes?.marks();
      await run.cancel("enough");
      const { cancel, containment } = await mustEnd(run, ExecutionState.CANCELLED);
      if (cancel?.reason !== "enough") fail(`its reason is ${JSON.stringify(cancel?.reason)}`);
      if (containment !== undefined && containment.escaped.length > 0)
        fail(`still running: ${containment.escaped.join(", ")}`);
      const own = new Set([...(during ?? [])].filter((mark) => !before?.has(mark)));
      const left = (await scene.processes?.carrying(own)) ?? [];
      if (left.length > 0) fail(`run_cancelled says that nothing is left, and still running: ${left.join(", ")}`);
      const isProcess = scene.manifest.topologies.includes(Topology.SUBPROCESS);
      if (isProcess && containment === undefined) fail("run_cancelled does not say what became of its processes");
      return cancel.cleanupError === "" ? undefined : SupportLevel.DEGRADED;
    },
  },
  {
    title: "C01 an execution is cancelled at whatever moment of its start",
    capability: "execution.cancel",
    async run(scene) {
      for (const delayMs of [0, 20, 200, 1_000]) {
        const run = await startRun(scene, scene.situations.long);
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        await run.cancel();
        await mustEnd(run, ExecutionState.CANCELLED);
      }
      return undefined;
    },
  },
  {
    title: "C02 of many cancels at once the first counts, and one terminal event follows",
    capability: "execution.cancel",
    async run(scene) {
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.text !== "");
      await Promise.all(Array.from({ length: 20 }, (_, index) => run.cancel(`cancel ${index}`)));
      const { cancel } = await mustEnd(run, ExecutionState.CANCELLED);
      if (cancel?.reason !== "cancel 0") fail(`its reason is ${JSON.stringify(cancel?.reason)}`);
      return undefined;
    },
  },
  {
    title: "C04 a cancel after the end changes nothing",
    capability: "execution.cancel",
    async run(scene) {
      const run = await startRun(scene, scene.situations.text);
      const { lastSequence } = await mustEnd(run, ExecutionState.SUCCEEDED);
      await run.cancel();
      const after = await scene.runtime.getExecution(scene.caller, run.id);
      if (after.lastSequence !== lastSequence || after.state !== ExecutionState.SUCCEEDED) fail("it changed");
      return undefined;
    },
  },
];
