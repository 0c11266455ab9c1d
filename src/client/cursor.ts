import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { WatchEventsResponse } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ContiguityError } from "./errors.js";

/** How far a reader is in an execution's log. */
export interface Cursor {
  readonly executionId: string;
  /** The last sequence that was looked at. */
  readonly afterSequence: number;
  /** Whether event types are filtered: then sequences have gaps, and only their order is verified. */
  readonly filtered: boolean;
}

/** What one frame brought. */
export interface Step {
  readonly cursor: Cursor;
  /** The events that were not seen before, in order. */
  readonly events: readonly Event[];
  /** True when the execution is over for this reader. */
  readonly ended: boolean;
}

/**
 * Takes a frame: leaves out what was seen before, and throws
 * {@link ContiguityError} when an event is missing or the frame contradicts
 * itself. Pure.
 */
export function nextStep(cursor: Cursor, frame: WatchEventsResponse): Step {
  verifyOrder(cursor, frame.events);
  const events = frame.events.filter(({ sequence }) => sequence > cursor.afterSequence);
  const first = events[0]?.sequence ?? cursor.afterSequence + 1;
  if (!cursor.filtered && first !== cursor.afterSequence + 1) fail(cursor, cursor.afterSequence + 1, first);
  verifyEnd(cursor, frame);
  const afterSequence = Math.max(cursor.afterSequence, frame.nextAfterSequence);
  const ended = isTerminal(frame.state) && afterSequence === frame.headSequence;
  return { cursor: { ...cursor, afterSequence }, events, ended };
}

/** Within a frame each sequence is one more than the one before, or just more where types are filtered. */
function verifyOrder(cursor: Cursor, events: readonly Event[]): void {
  events.forEach(({ sequence }, index) => {
    const before = events[index - 1]?.sequence ?? 0;
    const contiguous = cursor.filtered || index === 0 ? sequence > before : sequence === before + 1;
    if (!contiguous) fail(cursor, before + 1, sequence);
  });
}

/** A frame's cursor covers its events and, unless types are filtered, nothing more; the head is not behind either. */
function verifyEnd(cursor: Cursor, { events, nextAfterSequence, headSequence }: WatchEventsResponse): void {
  const last = events.at(-1)?.sequence ?? 0;
  const shown = Math.max(cursor.afterSequence, last);
  if (nextAfterSequence < last) fail(cursor, last, nextAfterSequence);
  if (!cursor.filtered && nextAfterSequence > shown) fail(cursor, shown + 1, nextAfterSequence + 1);
  if (headSequence < Math.max(shown, nextAfterSequence)) fail(cursor, Math.max(shown, nextAfterSequence), headSequence);
}

/** Whether an execution in this state never changes again. */
export function isTerminal(state: ExecutionState): boolean {
  return state === ExecutionState.SUCCEEDED || state === ExecutionState.FAILED || state === ExecutionState.CANCELLED;
}

function fail({ executionId }: Cursor, expected: number, received: number): never {
  throw new ContiguityError(
    `the log of ${executionId} is not contiguous: expected sequence ${expected}, received ${received}`,
    executionId,
    expected,
    received,
  );
}
