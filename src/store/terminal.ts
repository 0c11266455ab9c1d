import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";

/** Returns whether an execution in `state` is over. */
export function isTerminal(state: ExecutionState): boolean {
  return state === ExecutionState.SUCCEEDED || state === ExecutionState.FAILED || state === ExecutionState.CANCELLED;
}
