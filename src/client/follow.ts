import { Code } from "@connectrpc/connect";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { WatchEventsResponse } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { HarnessClient } from "./client.js";
import { type Clock, delay } from "./clock.js";
import { type Cursor, nextStep } from "./cursor.js";
import { HarnessRpcError, isRetryable } from "./errors.js";
import { createPatience, type FollowRetry, type Patience } from "./retry.js";
import type { ClientSettings } from "./settings.js";

/** Which events to follow. */
export interface FollowOptions {
  readonly executionId: string;
  /** Only events after this sequence. Default 0: from the first. */
  readonly afterSequence?: number;
  /** Only events of these dotted types; a `*` at the end matches the rest. Default: all. */
  readonly eventTypes?: readonly string[];
  /** Stops following, which then throws the signal's reason. The execution goes on. */
  readonly signal?: AbortSignal;
  /** Called before each wait for the next try. */
  readonly onRetry?: (retry: FollowRetry) => void;
}

/** What one frame of the log brought. */
export interface FollowFrame {
  /** The events, in order and each once; none for a heartbeat. */
  readonly events: readonly Event[];
  /** The last sequence that was looked at, shown or filtered out: where to go on after a restart of this program. */
  readonly afterSequence: number;
  /** The sequence of the log's last event: how far behind this reader is. */
  readonly headSequence: number;
  /** The execution's state at the head. */
  readonly state: ExecutionState;
}

/**
 * Follows an execution's log through its terminal event, whatever happens to
 * the connection: each event once, in order, none missing.
 *
 * Ends when the execution is terminal and everything has been shown. A stream
 * that is cut, silent for three heartbeats or ended by a server that drains is
 * opened again after the last sequence. Throws `ContiguityError` when an event
 * is missing, `HarnessRpcError` when the server refuses (NOT_FOUND,
 * CURSOR_AHEAD, CURSOR_EXPIRED, VALIDATION_ERROR) or when it has failed for
 * `retry.streamGiveUpMs` with nothing arriving in between.
 */
export async function* followEvents(client: HarnessClient, options: FollowOptions): AsyncGenerator<Event, void> {
  for await (const { events } of followFrames(client, options)) yield* events;
}

/** The same by frames, heartbeats among them, with the log's head and the execution's state. */
export function followFrames(client: HarnessClient, options: FollowOptions): AsyncGenerator<FollowFrame, void> {
  const { executionId, eventTypes = [] } = options;
  const open: OpenLog = ({ afterSequence }, signal) =>
    client.executions.watchEvents({ executionId, afterSequence, eventTypes: [...eventTypes] }, { signal });
  return followLog(open, toCursor(options), client.settings, options);
}

/** Opens the log after a cursor; its frames end, or fail, when the signal is aborted. */
export type OpenLog = (cursor: Cursor, signal: AbortSignal) => AsyncIterable<WatchEventsResponse>;

/** Where the options say to begin. */
export function toCursor({ executionId, afterSequence = 0, eventTypes = [] }: FollowOptions): Cursor {
  return { executionId, afterSequence, filtered: eventTypes.length > 0 };
}

/** {@link followFrames} of any way to open a log. */
export async function* followLog(
  open: OpenLog,
  start: Cursor,
  settings: ClientSettings,
  { signal, onRetry }: Pick<FollowOptions, "signal" | "onRetry">,
): AsyncGenerator<FollowFrame, void> {
  const patience = createPatience(settings);
  const log: Log = { cursor: start, ended: false };
  for (;;) {
    const failure = yield* followOnce(log, open, settings, patience, signal);
    if (log.ended) return;
    const retry = patience.failed(failure);
    onRetry?.(retry);
    await delay(settings.clock, retry.delayMs, signal);
  }
}

/** How far a log has been followed, over all its streams. */
interface Log {
  cursor: Cursor;
  ended: boolean;
}

/** Follows one stream. Returns why it ended when another one may go on; throws when none can. */
async function* followOnce(
  log: Log,
  open: OpenLog,
  settings: ClientSettings,
  patience: Patience,
  signal: AbortSignal | undefined,
): AsyncGenerator<FollowFrame, HarnessRpcError> {
  patience.opened();
  try {
    for await (const frame of framesOf(open, log.cursor, settings, signal)) {
      const { events, cursor, ended } = nextStep(log.cursor, frame);
      log.cursor = cursor;
      patience.heard(events.length > 0);
      yield { events, afterSequence: cursor.afterSequence, headSequence: frame.headSequence, state: frame.state };
      log.ended = ended;
      if (ended) break;
    }
    return new HarnessRpcError("the stream ended before the execution did", Code.Unavailable);
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof HarnessRpcError && isRetryable(error))) throw error;
    return error;
  }
}

const MISSED_HEARTBEATS = 3;

/** The frames of one stream, which is closed however this ends. Fails when none comes for three heartbeats. */
async function* framesOf(
  open: OpenLog,
  cursor: Cursor,
  { clock, heartbeatIntervalMs }: ClientSettings,
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchEventsResponse, void> {
  signal?.throwIfAborted();
  const done = new AbortController();
  const either = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
  const frames = open(cursor, either)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await within(frames.next(), MISSED_HEARTBEATS * heartbeatIntervalMs, clock);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    done.abort();
    // Not waited for: a stream that hangs may never answer.
    void frames.return?.().catch(() => undefined);
  }
}

/** The promise's value, unless it takes longer. The time the reader takes for a frame does not count. */
async function within<T>(promise: Promise<T>, limitMs: number, clock: Clock): Promise<T> {
  let stop = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    stop = clock.after(limitMs, () =>
      reject(new HarnessRpcError(`nothing arrived for ${limitMs} ms`, Code.DeadlineExceeded)),
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop();
    promise.catch(() => undefined);
  }
}
