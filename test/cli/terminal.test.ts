import { create, type DescMessage, fromJson, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs, ValueSchema } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { toTextLine } from "../../src/cli/serve/log.js";
import { endLine, exitCodeOf } from "../../src/cli/terminal/ending.js";
import { eventLine, summaryOf } from "../../src/cli/terminal/event-line.js";
import { oneLine, printable } from "../../src/cli/terminal/printable.js";
import { createProgress } from "../../src/cli/terminal/progress.js";
import { pairs, table } from "../../src/cli/terminal/table.js";
import { spanText } from "../../src/cli/terminal/time-text.js";

function event(payload: NonNullable<MessageInitShape<typeof EventSchema>["payload"]>, turn = 1): Event {
  return create(EventSchema, { sequence: 7, turn, time: timestampFromMs(0), payload });
}

describe("somebody else's text cannot control the terminal", () => {
  test("control characters are left out, line breaks and tabs stay", () => {
    expect(printable("a\u001b[31mb\u0007\u009b2J\r\nc\td")).toBe("a[31mb2J\nc\td");
  });

  test("one line has no line breaks and is cut", () => {
    expect(oneLine(" a\n\n b\u001b[2J c ", 50)).toBe("a b[2J c");
    expect(oneLine("abcdef", 4)).toBe("abc…");
  });
});

test("a table has aligned columns and no white space at the ends of lines", () => {
  expect(
    table(
      ["A", "LONG"],
      [
        ["wider", "x"],
        ["é", ""],
      ],
    ),
  ).toBe("A      LONG\nwider  x\né\n");
  expect(pairs({ id: "x", none: "", longer: "y", missing: undefined })).toBe("id      x\nlonger  y\n");
});

test.each([
  [0, 340, "340 ms"],
  [0, 12_340, "12.3 s"],
  [0, 185_000, "3 min 5 s"],
  [0, 7_320_000, "2 h 2 min"],
  [5, 0, "0 ms"],
])("from %d to %d is %s", (from, to, text) => {
  expect(spanText(timestampFromMs(from), timestampFromMs(to))).toBe(text);
});

test("an event is one line with its number, time, type and what it says", () => {
  const failed = event({
    case: "runFailed",
    value: { reason: FailureReason.PROVIDER_ERROR, message: "no\nway" },
  });
  expect(eventLine(failed)).toBe("    7  1970-01-01T00:00:00Z  run.failed              PROVIDER_ERROR: no way");
});

test("every kind of event has a summary, also when it is empty", () => {
  const payloads = EventSchema.fields.filter(({ oneof }) => oneof !== undefined);
  for (const field of payloads) {
    const value = create(field.message as DescMessage);
    const payload = { case: field.localName, value } as unknown as Event["payload"];
    expect(typeof summaryOf(payload)).toBe("string");
  }
  expect(payloads.length).toBeGreaterThan(20);
});

test.each([
  [ExecutionState.SUCCEEDED, 0],
  [ExecutionState.FAILED, 1],
  [ExecutionState.CANCELLED, 3],
])("state %d ends with %d", (state, code) => {
  expect(exitCodeOf(create(ExecutionSchema, { state }))).toBe(code);
});

test("the last line says how it ended, why, and what it took", () => {
  const execution = create(ExecutionSchema, {
    state: ExecutionState.FAILED,
    createTime: timestampFromMs(0),
    endTime: timestampFromMs(1_500),
    error: { reason: FailureReason.PROVIDER_ERROR, message: "boom", cleanupError: "left" },
    usage: { totalTokens: 12 },
  });
  expect(endLine(execution)).toBe("FAILED PROVIDER_ERROR: boom; cleanup: left (1.5 s, 12 tokens)");
});

test("a line of the log for people is its time, level, message and facts", () => {
  expect(toTextLine('{"level":"warn","time":"2026-01-02T03:04:05.678Z","port":1,"msg":"slow"}')).toBe(
    "03:04:05 warn  slow port=1\n",
  );
  expect(toTextLine('{"level":"info","time":"2026-01-02T03:04:05.678Z","user":"a\u009b2J","msg":"\\u001b[2J"}')).toBe(
    '03:04:05 info  [2J user="a2J"\n',
  );
});

describe("progress", () => {
  let out = "";
  let err = "";

  beforeEach(() => {
    out = "";
    err = "";
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      out += String(text);
      return true;
    });
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      err += String(text);
      return true;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  function show(...events: readonly Event[]): void {
    const progress = createProgress();
    for (const one of events) progress.event(one);
    progress.end();
    vi.restoreAllMocks();
  }

  function textDelta(text: string, turn = 1): Event {
    return event({ case: "outputTextDelta", value: { text } }, turn);
  }

  test("text goes to standard output, whatever comes between; tools and reasoning go to standard error", () => {
    const input = fromJson(ValueSchema, { path: "a" });
    show(
      event({ case: "outputReasoningDelta", value: { text: "hm" } }),
      textDelta("one "),
      event({ case: "toolCallStarted", value: { name: "read", input } }),
      event({ case: "toolCallCompleted", value: { name: "read" } }),
      event({ case: "toolCallCompleted", value: { toolCallId: "t7", name: "execute", title: "ls -l" } }),
      event({ case: "toolCallCompleted", value: { name: "rm", denied: true } }),
      event({ case: "toolCallCompleted", value: { name: "cp", error: "full" } }),
      textDelta("two"),
    );
    expect(out).toBe("one two\n");
    expect(err).toBe('hm\n→ read {"path":"a"}\n✓ read\n✓ ls -l\n✗ rm was denied\n✗ cp: full\n');
  });

  test("an output that was never streamed is shown at the end, and one that differs is noted", () => {
    const completed = event({ case: "runCompleted", value: { finalOutput: "done" } });
    show(completed);
    expect([out, err]).toEqual(["done\n", ""]);
  });

  test("a further turn begins on a line of its own", () => {
    show(textDelta("one"), textDelta("two", 2));
    expect([out, err]).toEqual(["one\ntwo\n", "turn 2\n"]);
  });
});
