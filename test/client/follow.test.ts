import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { WatchEventsResponse } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { ContiguityError, HarnessRpcError, reasonOf, toRpcError } from "../../src/client/errors.js";
import { type FollowFrame, followLog, type OpenLog } from "../../src/client/follow.js";
import type { FollowRetry } from "../../src/client/retry.js";
import { type ClientSettingsInit, toSettings } from "../../src/client/settings.js";
import { delta, deltas, frame, sequencesOf } from "./logs.js";
import { hastyClock, manualClock, settled } from "./manual-clock.js";

/** What one stream does: frames it sends, an error it ends with, or `hang`. */
type Act = WatchEventsResponse | Error | "hang";

const RESUME = new ConnectError("draining", Code.Unavailable, undefined, [
  {
    desc: ErrorInfoSchema,
    value: { reason: "RESUME_AFTER", domain: "harnessruntime", metadata: { after_sequence: "2" } },
  },
]);

/** Streams that act as written, one list for each time that the log is opened. */
function play(streams: readonly (readonly Act[])[]) {
  const opened: number[] = [];
  const signals: AbortSignal[] = [];
  const open: OpenLog = async function* (cursor, signal) {
    const acts = streams[opened.length] ?? [];
    opened.push(cursor.afterSequence);
    signals.push(signal);
    for (const act of acts) {
      if (act instanceof Error) throw toRpcError(act);
      if (act === "hang")
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      else yield act;
    }
  };
  return { open, opened, signals };
}

interface Following extends ClientSettingsInit {
  readonly after?: number;
  readonly filtered?: boolean;
  readonly signal?: AbortSignal;
}

function follow(open: OpenLog, { after = 0, filtered = false, signal, ...init }: Following = {}) {
  const retries: FollowRetry[] = [];
  const frames = followLog(
    open,
    { executionId: "exe_1", afterSequence: after, filtered },
    toSettings({ clock: hastyClock(), random: () => 0.5, ...init }),
    { onRetry: (retry) => void retries.push(retry), ...(signal === undefined ? {} : { signal }) },
  );
  return { frames, retries };
}

async function sequences(frames: AsyncIterable<FollowFrame>): Promise<number[]> {
  const all: number[] = [];
  for await (const { events } of frames) all.push(...sequencesOf(events));
  return all;
}

describe("following a log", () => {
  test("R01 shows each event once and ends with the terminal one", async () => {
    const { open, opened } = play([
      [frame(deltas(1, 2), { head: 2 }), frame([delta(3)], { head: 3, over: true }), "hang"],
    ]);
    expect(await sequences(follow(open).frames)).toEqual([1, 2, 3]);
    expect(opened).toEqual([0]);
  });

  test.each([
    ["a network that is down", new ConnectError("refused", Code.Unavailable)],
    ["a stream that is reset", new ConnectError("reset", Code.Canceled)],
    ["a broken HTTP/2 stream", new ConnectError("reset", Code.Internal)],
    ["half a frame", new ConnectError("incomplete envelope", Code.InvalidArgument)],
    ["a deadline", new ConnectError("late", Code.DeadlineExceeded)],
    ["an unknown failure of fetch", new TypeError("network error")],
    ["a server that drains", RESUME],
  ])("R05 goes on after the last sequence after %s", async (_, error) => {
    const { open, opened } = play([
      [frame(deltas(1, 2), { head: 5 }), error],
      [error],
      [frame(deltas(3, 5), { head: 5, over: true })],
    ]);
    expect(await sequences(follow(open).frames)).toEqual([1, 2, 3, 4, 5]);
    expect(opened).toEqual([0, 2, 2]);
  });

  test("opens a stream again that ended before the execution did", async () => {
    const { open, opened } = play([
      [frame(deltas(1, 2), { head: 3, over: true })],
      [frame([delta(3)], { head: 3, over: true })],
    ]);
    expect(await sequences(follow(open).frames)).toEqual([1, 2, 3]);
    expect(opened).toEqual([0, 2]);
  });

  test("R03 ends at once when opened at the terminal sequence", async () => {
    const { open, opened } = play([[frame([], { next: 3, head: 3, over: true })]]);
    expect(await sequences(follow(open, { after: 3 }).frames)).toEqual([]);
    expect(opened).toEqual([3]);
  });

  test("R03 with a filter that hides the terminal event ends all the same, and resumes after what it skipped", async () => {
    const cut = new ConnectError("reset", Code.Internal);
    const { open, opened } = play([
      [frame([delta(2)], { next: 7, head: 9 }), cut],
      [frame([], { next: 9, head: 9, over: true })],
    ]);
    expect(await sequences(follow(open, { filtered: true }).frames)).toEqual([2]);
    expect(opened).toEqual([0, 7]);
  });

  test("drops what a server sends again", async () => {
    const cut = new ConnectError("reset", Code.Internal);
    const { open } = play([[frame(deltas(1, 3), { head: 4 }), cut], [frame(deltas(2, 4), { head: 4, over: true })]]);
    expect(await sequences(follow(open).frames)).toEqual([1, 2, 3, 4]);
  });

  test("throws when an event is missing, and does not try again", async () => {
    const { open, opened } = play([[frame([delta(1)], { head: 3 }), frame([delta(3)], { head: 3, over: true })]]);
    await expect(sequences(follow(open).frames)).rejects.toThrow(ContiguityError);
    expect(opened).toEqual([0]);
  });

  test("throws what the server refuses, and does not try again", async () => {
    const unknown = new ConnectError("no execution", Code.NotFound, undefined, [
      { desc: ErrorInfoSchema, value: { reason: "NOT_FOUND", domain: "harnessruntime" } },
    ]);
    const { open, opened } = play([[unknown]]);
    const failure = await sequences(follow(open).frames).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HarnessRpcError);
    expect(reasonOf(failure)).toBe(ErrorReason.NOT_FOUND);
    expect(opened).toEqual([0]);
  });
});

describe("a stream that is silent", () => {
  test("for three heartbeats is closed and opened again", async () => {
    const clock = manualClock();
    const { open, opened, signals } = play([
      [frame([delta(1)], { head: 1 }), "hang"],
      [frame([delta(2)], { head: 2, over: true })],
    ]);
    const { frames, retries } = follow(open, { clock, heartbeatIntervalMs: 1_000 });
    const result = sequences(frames);
    await settled();
    await clock.advance(2_999);
    expect(opened).toEqual([0]);
    await clock.advance(1);
    expect(signals[0]?.aborted).toBe(true);
    expect(retries).toMatchObject([{ error: { code: Code.DeadlineExceeded }, failures: 1 }]);
    await clock.advance(100);
    expect(await result).toEqual([1, 2]);
    expect(clock.pending()).toEqual([]);
  });

  test("is not, while the reader takes its time", async () => {
    const clock = manualClock();
    const { open, opened } = play([[frame([delta(1)], { head: 2 }), frame([delta(2)], { head: 2, over: true })]]);
    const { frames } = follow(open, { clock, heartbeatIntervalMs: 1_000 });
    await frames.next();
    await clock.advance(60_000);
    expect((await frames.next()).value).toMatchObject({ headSequence: 2 });
    expect((await frames.next()).done).toBe(true);
    expect(opened).toEqual([0]);
  });
});

describe("the time between tries", () => {
  const down = new ConnectError("refused", Code.Unavailable);

  test("has full jitter, doubles up to a limit, and starts over after progress", async () => {
    const { open } = play([
      ...Array.from({ length: 7 }, () => [down]),
      [frame([delta(1)], { head: 2 }), down],
      [frame([delta(2)], { head: 2, over: true })],
    ]);
    const { frames, retries } = follow(open, { random: () => 0.5, retry: { baseDelayMs: 100, maxDelayMs: 1_000 } });
    await sequences(frames);
    expect(retries.map(({ delayMs }) => delayMs)).toEqual([50, 100, 200, 400, 500, 500, 500, 50]);
  });

  test("is at least what the server asks for", async () => {
    const { open } = play([
      [new HarnessRpcError("draining", Code.Unavailable, { reason: ErrorReason.SERVER_DRAINING, retryAfterMs: 700 })],
      [frame([], { head: 0, next: 0, over: true })],
    ]);
    const { frames, retries } = follow(open, { random: () => 0 });
    await sequences(frames);
    expect(retries.map(({ delayMs }) => delayMs)).toEqual([700]);
  });

  test("is not wasted for ever: nothing for streamGiveUpMs throws the last failure", async () => {
    const { open } = play(Array.from({ length: 50 }, () => [down]));
    const { frames, retries } = follow(open, {
      random: () => 0.99,
      retry: { maxDelayMs: 1_000, streamGiveUpMs: 5_000 },
    });
    await expect(sequences(frames)).rejects.toMatchObject({ code: Code.Unavailable });
    expect(retries.reduce((sum, { delayMs }) => sum + delayMs, 0)).toBeLessThanOrEqual(5_000);
  });

  test("counts from the first failure and not from the last frame, however long ago that came", async () => {
    const clock = manualClock();
    const { open, opened } = play([
      [frame([delta(1)], { head: 2 }), down],
      [down],
      [frame([delta(2)], { head: 2, over: true })],
    ]);
    const { frames } = follow(open, { clock, random: () => 0, retry: { streamGiveUpMs: 5_000 } });
    await frames.next();
    await clock.advance(60_000);
    const result = sequences(frames);
    for (let tries = 0; tries < 2; tries++) {
      await settled();
      await clock.advance(0);
    }
    expect(await result).toEqual([2]);
    expect(opened).toEqual([0, 1, 1]);
  });
});

describe("stopping", () => {
  test("by the signal throws its reason, in a stream and between streams", async () => {
    const during = new AbortController();
    const { open, signals } = play([["hang"]]);
    const result = sequences(follow(open, { signal: during.signal }).frames);
    await settled();
    during.abort(new Error("enough"));
    await expect(result).rejects.toThrow("enough");
    expect(signals[0]?.aborted).toBe(true);

    const between = new AbortController();
    const clock = manualClock();
    const waiting = sequences(follow(play([[]]).open, { clock, signal: between.signal }).frames);
    await settled();
    between.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(clock.pending()).toEqual([]);
  });

  test("by leaving the loop closes the stream", async () => {
    const { open, signals } = play([[frame([delta(1)], { head: 2 }), "hang"]]);
    for await (const { events } of follow(open).frames) if (events.length > 0) break;
    expect(signals[0]?.aborted).toBe(true);
  });
});
