import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { type WatchEventsResponse, WatchEventsResponseSchema } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";

export type Payload = NonNullable<MessageInitShape<typeof EventSchema>["payload"]>;

/** A text delta that says its own sequence. */
export function delta(sequence: number, executionId = "exe_1"): Event {
  return create(EventSchema, {
    executionId,
    sequence,
    attempt: 1,
    turn: 1,
    payload: { case: "outputTextDelta", value: { text: String(sequence) } },
  });
}

/** The events from `first` to `last`. */
export function deltas(first: number, last: number): Event[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => delta(first + index));
}

/** A frame with these events out of a log of `head` events, whose execution is over or not. */
export function frame(
  events: readonly Event[],
  { next, head, over = false }: { next?: number; head: number; over?: boolean },
): WatchEventsResponse {
  return create(WatchEventsResponseSchema, {
    events: [...events],
    nextAfterSequence: next ?? events.at(-1)?.sequence ?? 0,
    headSequence: head,
    state: over ? ExecutionState.SUCCEEDED : ExecutionState.RUNNING,
  });
}

export function sequencesOf(events: Iterable<Event>): number[] {
  return Array.from(events, ({ sequence }) => sequence);
}
