import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { EXIT } from "../cli-error.js";
import { oneLine } from "./printable.js";
import { paint, stateText } from "./style.js";
import { spanText } from "./time-text.js";

/** Returns the number that a program ends with after an execution: 0 SUCCEEDED, 1 FAILED, 3 CANCELLED. */
export function exitCodeOf({ state }: Execution): number {
  if (state === ExecutionState.SUCCEEDED) return EXIT.ok;
  return state === ExecutionState.CANCELLED ? EXIT.cancelled : EXIT.failed;
}

/** Says on one line, for standard error, how an execution ended or where it stands. */
export function endLine(execution: Execution): string {
  const { createTime, endTime, usage, state } = execution;
  const tokens = usage !== undefined && usage.totalTokens > 0 ? `${usage.totalTokens} tokens` : "";
  const facts = [spanText(createTime, endTime), tokens].filter(Boolean).join(", ");
  const why = whyOf(execution);
  return `${stateText(state, "stderr")}${why === "" ? "" : ` ${why}`}${paint("dim", facts === "" ? "" : ` (${facts})`, "stderr")}`;
}

/** Says why an execution failed or was cancelled; empty where it did not. */
export function whyOf({ error, cancel }: Execution): string {
  if (error !== undefined) {
    const cleanup = error.cleanupError === "" ? "" : `; cleanup: ${error.cleanupError}`;
    return oneLine(`${FailureReason[error.reason]}: ${error.message}${cleanup}`, 500);
  }
  return cancel === undefined
    ? ""
    : oneLine([cancel.reason, cancel.cleanupError].filter(Boolean).join("; cleanup: "), 500);
}
