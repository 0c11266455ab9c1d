import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { isHarnessError, type Reason } from "../../core/errors.js";
import { type CheckedRun, fail, type Scene } from "./scene.js";
import type { Situations } from "./situation.js";

/** One sentence that holds of every provider that declares the capability. */
export interface Check {
  /** The sentence; a behaviour of the contract begins with its number. */
  readonly title: string;
  /** Skipped where the manifest calls it UNSUPPORTED; its measured level where it fails is UNSUPPORTED. */
  readonly capability?: string;
  /** Skipped where the provider cannot be brought there. */
  readonly situation?: keyof Situations;
  /** A fault that it needs; skipped where that cannot be made. */
  readonly fault?: "kill" | "noise";
  /** Throws what is wrong; may resolve with a lower level than the declared one. */
  run(scene: Scene): Promise<SupportLevel | undefined>;
}

/** Waits for a run's end and returns it; fails where it ended otherwise. */
export async function mustEnd(run: CheckedRun, state: ExecutionState): Promise<Execution> {
  const execution = await run.end();
  if (execution.state === state) return execution;
  const why = execution.error?.message ?? "";
  return fail(
    `it ended ${ExecutionState[execution.state]}, not ${ExecutionState[state]}${why === "" ? "" : `: ${why}`}`,
  );
}

/** Fails unless the call is refused with this reason. */
export async function refused(reason: Reason, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (isHarnessError(error, reason)) return;
    throw error;
  }
  fail(`it was not refused with ${ErrorReason[reason]}`);
}
