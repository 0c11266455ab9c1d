import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { type HarnessError, isHarnessError } from "../core/errors.js";

/** Whether a start was refused: nothing of the run is stored. Where the store failed, that is not known. */
export function isRefusal(error: unknown): error is HarnessError {
  return isHarnessError(error) && !UNKNOWN.includes(error.reason);
}

const UNKNOWN: readonly ErrorReason[] = [ErrorReason.STORE_UNAVAILABLE, ErrorReason.INTERNAL];

/** The only event of a run whose start was refused; it is in no store. `cancelled` is why nobody wanted it any more. */
export function refusedStart(
  runId: string,
  { reason, message }: HarnessError,
  cancelled: string | undefined,
  nowMs: number,
): Event {
  const conflict = reason === ErrorReason.CONVERSATION_CONFLICT;
  const failed = { reason: conflict ? FailureReason.CONVERSATION_CONFLICT : FailureReason.PROVIDER_ERROR, message };
  return create(EventSchema, {
    executionId: runId,
    sequence: 1,
    time: timestampFromMs(nowMs),
    attempt: 1,
    turn: 1,
    payload:
      cancelled === undefined
        ? { case: "runFailed", value: failed }
        : { case: "runCancelled", value: { reason: cancelled } },
  });
}
