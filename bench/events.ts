import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Event, EventSchema } from "../gen/ts/harnessruntime/v1/event_pb.js";
import { WatchEventsResponseSchema } from "../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { ExecutionState } from "../gen/ts/harnessruntime/v1/execution_pb.js";
import { envelope } from "../src/server/event-frames.js";

/** The text of one delta; with its envelope an event is of about 200 bytes. */
export const TEXT_BYTES = 130;

export function textOf(sequence: number): string {
  return `${sequence} `.padEnd(TEXT_BYTES, "x");
}

/** A text delta as the runtime stores it. */
export function eventOf(sequence: number): Event {
  return create(EventSchema, {
    executionId: "exe_01jdq5x8k3v7c2m9r4t6w8y0ab",
    sequence,
    time: timestampFromMs(1_790_000_000_000 + sequence),
    attempt: 1,
    turn: 1,
    payload: { case: "outputTextDelta", value: { text: textOf(sequence), itemId: "" } },
  });
}

/** What a server would send for events `from` to `to`, as one frame. */
export function frameOf(from: number, to: number): Uint8Array {
  const events = Array.from({ length: to - from + 1 }, (_, index) => eventOf(from + index));
  const state = ExecutionState.RUNNING;
  const response = { events, nextAfterSequence: to, headSequence: to, state };
  return envelope(toBinary(WatchEventsResponseSchema, create(WatchEventsResponseSchema, response)));
}
