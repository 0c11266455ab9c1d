import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Check, mustEnd } from "./check.js";
import { fail, levelOf, startRun } from "./scene.js";

/** That faults of the harness stay its own. */
export const FAULT_CHECKS: readonly Check[] = [
  {
    title: "an execution whose process is killed (−9) goes on with the next attempt, or says that it was lost",
    fault: "kill",
    async run(scene) {
      const run = await startRun(scene, scene.situations.long);
      await run.until("text", () => run.text !== "");
      await scene.kill?.();
      if (levelOf(scene, "execution.resume") === SupportLevel.UNSUPPORTED) {
        const { error } = await mustEnd(run, ExecutionState.FAILED);
        if (error?.reason !== FailureReason.PROVIDER_LOST) fail(`its reason is ${FailureReason[error?.reason ?? 0]}`);
        return undefined;
      }
      await run.until("run_resumed", () => run.count("runResumed") > 0);
      await run.cancel();
      await mustEnd(run, ExecutionState.CANCELLED);
      return undefined;
    },
  },
  {
    title: "noise and a line of 10 MiB in its harness's output change nothing",
    fault: "noise",
    async run(scene) {
      const { noisyProviderId: providerId = "" } = scene;
      const run = await startRun(scene, scene.situations.text, { providerId });
      const { finalOutput } = await mustEnd(run, ExecutionState.SUCCEEDED);
      if (finalOutput === "") fail("its output was lost");
      return undefined;
    },
  },
];
