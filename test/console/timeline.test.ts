import { create, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { InputDropReason, InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { eventSummary } from "../../src/console/timeline/event-summary.js";
import type { TimelineRow } from "../../src/console/timeline/row.js";
import { createTimeline, type Timeline } from "../../src/console/timeline/timeline.js";

type Payload = NonNullable<MessageInitShape<typeof EventSchema>["payload"]>;

/** Events of these payloads, numbered from 1. A number begins a turn. */
function log(...payloads: readonly (Payload | number)[]): Event[] {
  let turn = 1;
  const events: Event[] = [];
  for (const payload of payloads) {
    if (typeof payload === "number") turn = payload;
    else events.push(create(EventSchema, { sequence: events.length + 1, turn, attempt: 1, payload }));
  }
  return events;
}

function timelineOf(events: readonly Event[]): Timeline {
  const timeline = createTimeline();
  timeline.take(events);
  return timeline;
}

const text = (value: string, itemId = ""): Payload => ({ case: "outputTextDelta", value: { text: value, itemId } });
const kinds = ({ rows }: Timeline): readonly string[] => rows.map(({ kind }) => kind);

/** A row without what only tells that it changed. */
function plain(row: TimelineRow): unknown {
  const { revision: _, ...rest } = row;
  return "open" in rest ? { ...rest, open: rest.open.peek() } : rest;
}

describe("a timeline", () => {
  test("is the same in whatever pieces the events come", () => {
    const deltas = fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 }), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(deltas, fc.array(fc.nat(40), { maxLength: 6 }), (texts, cuts) => {
        const events = log(
          { case: "runQueued", value: {} },
          ...texts.flatMap((value, at): Payload[] =>
            at % 9 === 8 ? [{ case: "toolCallStarted", value: { toolCallId: `${at}`, name: "t" } }] : [text(value)],
          ),
        );
        const whole = timelineOf(events);
        const pieces = createTimeline();
        let from = 0;
        for (const cut of [...cuts.toSorted((a, b) => a - b), events.length]) {
          pieces.take(events.slice(from, Math.max(from, cut)));
          from = Math.max(from, cut);
        }
        expect(pieces.rows.map(plain)).toEqual(whole.rows.map(plain));
        expect(pieces.length.value).toBe(pieces.rows.length);
      }),
    );
  });

  test("keeps every character of a text, in rows that are cheap to lay out and cut no character in two", () => {
    const family = "👩‍👩‍👧‍👦";
    const word = fc.constantFrom("a", " ", "\n", family, "e\u0301", "שלום", "x".repeat(700));
    fc.assert(
      fc.property(fc.array(fc.array(word, { maxLength: 60 }), { maxLength: 30 }), (parts) => {
        const texts = parts.map((words) => words.join("")).filter((value) => value !== "");
        const { rows } = timelineOf(log(...texts.map((value) => text(value))));
        const shown = rows.map((row) => ("text" in row ? row.text : ""));
        expect(shown.join("")).toBe(texts.join(""));
        expect(Math.max(0, ...shown.map(({ length }) => length))).toBeLessThanOrEqual(3_000);
        const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" });
        const starts = new Set(Array.from(segments.segment(texts.join("")), ({ index }) => index));
        let at = 0;
        for (const value of shown) {
          // A delta may itself begin within a character; then so may a row.
          expect(starts.has(at) || texts.length > 1).toBe(true);
          at += value.length;
        }
      }),
    );
  });

  test("begins another row of text for another item, another turn, or after anything else", () => {
    const timeline = timelineOf(
      log(
        text("a"),
        text("b"),
        text("c", "2"),
        2,
        text("d", "2"),
        { case: "runCancelling", value: {} },
        text("e", "2"),
      ),
    );
    expect(kinds(timeline)).toEqual(["text", "text", "turn", "text", "note", "text"]);
  });

  test("shows a tool call as one row, which fields that are empty do not change", () => {
    const { rows } = timelineOf(
      log(
        { case: "toolCallStarted", value: { toolCallId: "1", name: "read", title: "Read a" } },
        text("meanwhile"),
        {
          case: "toolCallUpdated",
          value: { toolCallId: "1", output: { kind: { case: "stringValue", value: "half" } } },
        },
        { case: "toolCallCompleted", value: { toolCallId: "1", error: "gone" } },
      ),
    );
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({ name: "read", title: "Read a", output: "half", state: "failed", error: "gone" });
  });

  test("begins another row for a tool call that has the ID of one that is over, or was of another turn", () => {
    const call = (toolCallId: string, title: string): Payload => ({
      case: "toolCallStarted",
      value: { toolCallId, name: "read", title },
    });
    const { rows } = timelineOf(
      log(
        call("1", "Read a"),
        { case: "toolCallCompleted", value: { toolCallId: "1", error: "gone" } },
        call("1", "Read b"),
        { case: "toolCallUpdated", value: { toolCallId: "1", title: "Read b again" } },
        2,
        call("1", "Read c"),
      ),
    );
    expect(rows).toMatchObject([
      { title: "Read a", state: "failed", error: "gone" },
      { title: "Read b again", state: "running", error: "" },
      { kind: "turn" },
      { title: "Read c", state: "running" },
    ]);
  });

  test("shows what became of actions and inputs where they began", () => {
    const { rows, supersededTurns } = timelineOf(
      log(
        { case: "actionRequired", value: { action: { id: "a", title: "May I?" } } },
        { case: "actionResponded", value: { actionId: "a", approved: false, responder: { userId: "ada" } } },
        { case: "inputAccepted", value: { inputId: "i", mode: InputMode.REPLACE } },
        { case: "inputAccepted", value: { inputId: "j", mode: InputMode.STEER } },
        2,
        { case: "inputConsumed", value: { inputId: "i", turn: 2, supersededTurn: 1 } },
        { case: "inputDropped", value: { inputId: "j", reason: InputDropReason.EXECUTION_ENDED } },
      ),
    );
    expect(rows[0]).toMatchObject({ kind: "action", state: ActionState.RESPONDED, outcome: "denied by ada" });
    expect(rows[1]).toMatchObject({ kind: "input", mode: InputMode.REPLACE, state: "consumed" });
    expect(rows[2]).toMatchObject({ kind: "input", state: "dropped", dropReason: InputDropReason.EXECUTION_ENDED });
    expect(rows[3]).toMatchObject({ kind: "turn", because: "replace", turn: 2 });
    expect([...supersededTurns.value]).toEqual([1]);
  });

  test("shows the final output only where no delta of its turn has", () => {
    const done: Payload = { case: "outputTextDone", value: { text: "all of it" } };
    expect(kinds(timelineOf(log(text("all of it"), done)))).toEqual(["text"]);
    expect(kinds(timelineOf(log(done)))).toEqual(["text"]);
    expect(kinds(timelineOf(log(text("before"), 2, done)))).toEqual(["text", "turn", "text"]);
  });

  test("keeps one row for the plan of a turn, as it stands", () => {
    const plan = (...contents: string[]): Payload => ({
      case: "planUpdated",
      value: { entries: contents.map((content) => ({ content })) },
    });
    const timeline = timelineOf(log(plan("one"), text("x"), plan("one", "two"), 2, plan("three")));
    expect(kinds(timeline)).toEqual(["plan", "text", "turn", "plan"]);
    expect(timeline.rows[0]).toMatchObject({ entries: [{ content: "one" }, { content: "two" }] });
    expect(timeline.plan.value.map(({ content }) => content)).toEqual(["three"]);
  });
});

test("every kind of event has a row or goes without saying, and a line in the list of events", () => {
  for (const field of EventSchema.oneofs.find(({ name }) => name === "payload")?.fields ?? []) {
    const [event] = log({ case: field.localName, value: {} } as Payload);
    if (event === undefined) throw new Error("no event");
    expect(() => timelineOf([event])).not.toThrow();
    expect(eventSummary(event)).toEqual(expect.any(String));
  }
});
