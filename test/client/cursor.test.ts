import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { WatchEventsResponse } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { type Cursor, nextStep } from "../../src/client/cursor.js";
import { ContiguityError } from "../../src/client/errors.js";
import { delta, deltas, frame, sequencesOf } from "./logs.js";

function cursorAt(afterSequence: number, filtered = false): Cursor {
  return { executionId: "exe_1", afterSequence, filtered };
}

describe("a frame", () => {
  test("brings the events after the cursor and moves it", () => {
    const step = nextStep(cursorAt(2), frame(deltas(3, 5), { head: 9 }));
    expect(sequencesOf(step.events)).toEqual([3, 4, 5]);
    expect(step.cursor.afterSequence).toBe(5);
    expect(step.ended).toBe(false);
  });

  test("leaves out what was seen before", () => {
    const step = nextStep(cursorAt(4), frame(deltas(3, 6), { head: 6 }));
    expect(sequencesOf(step.events)).toEqual([5, 6]);
    expect(nextStep(cursorAt(6), frame(deltas(3, 6), { head: 6 })).events).toEqual([]);
  });

  test("R09 with a filter moves the cursor over what it skipped", () => {
    const step = nextStep(cursorAt(2, true), frame([delta(5)], { next: 8, head: 9 }));
    expect(sequencesOf(step.events)).toEqual([5]);
    expect(step.cursor.afterSequence).toBe(8);
  });

  test.each([
    ["is not over while its state is not terminal", frame([], { next: 5, head: 5 }), false],
    ["is not over while the head is ahead", frame([], { next: 5, head: 6, over: true }), false],
    ["is over when terminal and at the head", frame([], { next: 5, head: 5, over: true }), true],
  ])("%s", (_, taken, ended) => {
    expect(nextStep(cursorAt(5), taken).ended).toBe(ended);
  });
});

describe("a log that is not contiguous is refused:", () => {
  test.each<[string, Cursor, WatchEventsResponse, number, number]>([
    ["a gap after the cursor", cursorAt(2), frame(deltas(4, 5), { head: 5 }), 3, 4],
    ["a gap within a frame", cursorAt(0), frame([delta(1), delta(3)], { head: 3 }), 2, 3],
    ["an event twice within a frame", cursorAt(0), frame([delta(1), delta(1)], { head: 3 }), 2, 1],
    ["a step back within a filtered frame", cursorAt(0, true), frame([delta(3), delta(2)], { next: 3, head: 3 }), 4, 2],
    ["a cursor that skips events", cursorAt(2), frame([], { next: 4, head: 4 }), 3, 5],
    ["a cursor behind its own events", cursorAt(2, true), frame([delta(5)], { next: 4, head: 9 }), 5, 4],
    ["a head behind the cursor", cursorAt(7), frame([], { next: 3, head: 3 }), 7, 3],
  ])("%s", (_, cursor, taken, expectedSequence, receivedSequence) => {
    const refuse = () => nextStep(cursor, taken);
    expect(refuse).toThrow(ContiguityError);
    expect(refuse).toThrow(expect.objectContaining({ expectedSequence, receivedSequence, executionId: "exe_1" }));
  });
});

/** Cuts a log of `head` events into frames that may repeat events from before, as a server may after a reconnect. */
function framings(head: number): fc.Arbitrary<WatchEventsResponse[]> {
  return fc.array(fc.tuple(fc.nat(4), fc.nat(6)), { minLength: head, maxLength: head * 2 }).map((pieces) => {
    const frames: WatchEventsResponse[] = [];
    let after = 0;
    for (const [repeat, count] of [...pieces, [0, head] as const]) {
      const last = Math.min(head, after + count);
      const first = Math.max(1, after + 1 - repeat);
      frames.push(frame(deltas(first, last), { next: last, head, over: last === head }));
      after = last;
    }
    return frames;
  });
}

test("however a log is cut into frames and repeated, each event comes once and in order", () => {
  const logs = fc.integer({ min: 1, max: 12 }).chain((head) => fc.tuple(fc.constant(head), framings(head)));
  fc.assert(
    fc.property(logs, ([head, frames]) => {
      let cursor = cursorAt(0);
      const events: Event[] = [];
      for (const taken of frames) {
        const step = nextStep(cursor, taken);
        cursor = step.cursor;
        events.push(...step.events);
      }
      expect(sequencesOf(events)).toEqual(sequencesOf(deltas(1, head)));
    }),
  );
});

test("a log with any one event left out is refused", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 30 }), fc.nat(), (head, choice) => {
      const missing = 1 + (choice % head);
      const events = deltas(1, head).filter(({ sequence }) => sequence !== missing);
      expect(() => nextStep(cursorAt(0), frame(events, { next: head, head, over: true }))).toThrow(ContiguityError);
    }),
  );
});
