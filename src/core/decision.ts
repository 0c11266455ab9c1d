import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { ActionTimeoutPolicy } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import { encodeChunk } from "./chunk.js";
import { evolve } from "./evolve.js";
import { encodeRow, type Fold, isCancelling } from "./fold.js";
import type { Append, ExecutionKey, IdempotencyRecord, SideWrites } from "./store.js";

/** The payload of an event that is about to be made: `{ case, value }`. */
export type PayloadInit = Extract<NonNullable<MessageInitShape<typeof EventSchema>["payload"]>, { case: string }>;

/**
 * What a command or an emission leads to: the events to append, the fold after
 * them, and what is written beside them. Decided by a pure function over a fold,
 * written at once or not at all.
 */
export interface Decision<T = undefined> {
  readonly fold: Fold;
  readonly events: readonly Event[];
  readonly side?: SideWrites;
  readonly idempotency?: IdempotencyRecord;
  /** What the caller is told once it is stored. */
  readonly result: T;
}

/** A decision that writes nothing. */
export function nothing<T>(fold: Fold, result: T): Decision<T> {
  return { fold, events: [], result };
}

/**
 * Gives each payload its envelope (the next sequence, a time that never goes
 * back, attempt and turn) and folds it. Throws a RangeError where one may not
 * follow: check first.
 */
export function record(
  fold: Fold,
  payloads: readonly PayloadInit[],
  nowMs: number,
): { readonly fold: Fold; readonly events: readonly Event[] } {
  const time = timestampFromMs(Math.max(nowMs, fold.updateTimeMs));
  const events: Event[] = [];
  let after = fold;
  for (const payload of payloads) {
    const event = create(EventSchema, {
      executionId: after.execution.id,
      sequence: after.lastSequence + 1,
      time,
      attempt: payload.case === "runResumed" ? (payload.value.attempt ?? 0) : after.execution.attempt || 1,
      turn: turnOf(after, payload),
      payload,
    });
    events.push(event);
    after = evolve(after, [event]);
  }
  return { fold: after, events };
}

/** Returns the write of a decision that was made on `before`; undefined where it writes nothing. */
export function toAppend(
  key: ExecutionKey,
  before: Fold,
  { fold, events, side, idempotency }: Decision<unknown>,
  fence: number | undefined,
): Append | undefined {
  if (events.length === 0 && side === undefined) return undefined;
  const changed = fold.execution !== before.execution || fold.inner !== before.inner;
  return {
    key,
    expected: before.lastSequence,
    lastSequence: fold.lastSequence,
    updateTimeMs: fold.updateTimeMs,
    ...(fence === undefined ? {} : { fence }),
    ...(events.length === 0 ? {} : { chunk: encodeChunk(events) }),
    ...(changed ? { row: encodeRow(fold) } : {}),
    ...(side === undefined ? {} : { side }),
    ...(idempotency === undefined ? {} : { idempotency }),
  };
}

/** The turn that an event belongs to: the one it begins, or the current one. */
function turnOf(fold: Fold, payload: PayloadInit): number {
  const turn = fold.execution.turn || 1;
  switch (payload.case) {
    case "inputConsumed":
      return payload.value.turn ?? turn;
    case "completionEvaluated":
      return payload.value.action === CompletionAction.REVISE ? turn + 1 : turn;
    case "actionResponded":
      return answerBeginsTurn(fold) ? turn + 1 : turn;
    case "actionExpired":
      return answerBeginsTurn(fold) && payload.value.policy === ActionTimeoutPolicy.DENY ? turn + 1 : turn;
    default:
      return turn;
  }
}

function answerBeginsTurn(fold: Fold): boolean {
  return fold.inner.answerBeginsTurn && !isCancelling(fold);
}
