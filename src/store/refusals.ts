import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../core/errors.js";
import type { Append, ExecutionKey } from "../core/store.js";

/** How long a caller should wait before it tries a store again that could not keep a write, in milliseconds. */
const RETRY_MS = 1000;

/** The error for a write that expected another log than there is. `headSequence` is undefined where there is no such execution. */
export function sequenceConflict(
  { executionId }: ExecutionKey,
  expected: number,
  headSequence: number | undefined,
): HarnessError {
  const found = headSequence === undefined ? "does not exist" : `ends at ${headSequence}`;
  return new HarnessError(
    ErrorReason.SEQUENCE_CONFLICT,
    `the log of execution ${JSON.stringify(executionId)} ${found}, not at ${expected}: read it again and decide anew`,
    {
      execution_id: executionId,
      expected_sequence: String(expected),
      ...(headSequence !== undefined && { head_sequence: String(headSequence) }),
    },
  );
}

/** The error for a resource or artifact that a write would create twice. */
export function alreadyThere(resource: string, id: string): HarnessError {
  return new HarnessError(
    ErrorReason.SEQUENCE_CONFLICT,
    `there is already ${resource} with the ID ${JSON.stringify(id)}: read it instead`,
    { resource, id },
  );
}

/** The error for a write by an owner that is the owner no more. */
export function fenced({ executionId }: ExecutionKey, fence: number): HarnessError {
  return new HarnessError(
    ErrorReason.FENCED,
    `fencing number ${fence} of execution ${JSON.stringify(executionId)} is not the current one: its owner has changed`,
    { execution_id: executionId, fence: String(fence) },
  );
}

/** The error of every call after `close`. */
export function storeClosed(kind: string): HarnessError {
  return unavailable(`the ${kind} store is closed: open it again`, { store: kind });
}

/** The error for a store that cannot do what it was asked now. `metadata` names what is at fault. */
export function unavailable(
  message: string,
  metadata: Readonly<Record<string, string>>,
  cause?: unknown,
): HarnessError {
  return new HarnessError(ErrorReason.STORE_UNAVAILABLE, message, metadata, { cause, retryMs: RETRY_MS });
}

/** Throws a RangeError where `write` contradicts itself: a bug of whoever made it. */
export function checkAppend({ key, expected, chunk, create, row, lastSequence }: Append): void {
  const ends = chunk === undefined ? expected : chunk.lastSequence;
  const problem =
    (create !== undefined && expected !== 0 && "is created with events before it") ||
    (create !== undefined && row === undefined && "is created without a row") ||
    (chunk !== undefined && chunk.firstSequence !== expected + 1 && "gets events that leave a gap") ||
    (chunk !== undefined && chunk.lastSequence < chunk.firstSequence && "gets an empty chunk") ||
    (lastSequence !== ends && `ends at ${ends} after this write, not at ${lastSequence}`);
  if (problem) throw new RangeError(`execution ${key.executionId} ${problem}`);
}
