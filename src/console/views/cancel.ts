import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { isTerminal } from "../../client/cursor.js";
import { confirm } from "../parts/confirm.js";
import { notify, notifyError } from "../parts/notices.js";
import { client } from "../session.js";
import { oneLine } from "../words/json.js";

const MAX_REASON_LENGTH = 500;

/** Whether it makes sense to cancel an execution in this state. */
export function canCancel(state: ExecutionState): boolean {
  return !isTerminal(state) && state !== ExecutionState.CANCELLING && state !== ExecutionState.UNSPECIFIED;
}

/** Asks, with a reason, and then cancels. Returns the execution as it then stands; undefined where it was not cancelled. */
export async function cancelExecution(
  execution: Pick<Execution, "id" | "state" | "input">,
): Promise<Execution | undefined> {
  if (!canCancel(execution.state)) return undefined;
  const reason = await confirm({
    title: "Cancel this execution?",
    text: oneLine(execution.input?.text ?? "", 200) || execution.id,
    yes: "Cancel execution",
    no: "Let it run",
    reasonLength: MAX_REASON_LENGTH,
  });
  if (reason === undefined) return undefined;
  try {
    const response = await client.executions.cancelExecution({ executionId: execution.id, reason });
    notify("Cancel requested");
    return response.execution;
  } catch (error) {
    notifyError(error);
    return undefined;
  }
}
