import { Code } from "@connectrpc/connect";
import { type Clock, delay } from "./clock.js";
import { type HarnessRpcError, isRetryable, toRpcError } from "./errors.js";

/** When to try again and when to give up. Times in milliseconds. */
export interface RetryPolicy {
  /** The first wait is between 0 and this; each further one may be twice as long. Default 100. */
  readonly baseDelayMs: number;
  /** No wait is longer, unless the server asks for more. Default 5,000. */
  readonly maxDelayMs: number;
  /** A call is not tried again later than this after it first failed. 0 never tries again. Default 10,000. */
  readonly callGiveUpMs: number;
  /** A stream fails once this long has passed since it first failed, with nothing arriving in between. Default 600,000. */
  readonly streamGiveUpMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = {
  baseDelayMs: 100,
  maxDelayMs: 5_000,
  callGiveUpMs: 10_000,
  streamGiveUpMs: 600_000,
};

/** What it takes to be patient. */
export interface PatienceSettings {
  readonly retry: RetryPolicy;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Makes a call once; whatever it throws is a `HarnessRpcError`. */
export async function callOnce<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toRpcError(error);
  }
}

/** How a call goes on after a failure. */
export interface CallManners {
  /** The caller's own: once aborted, nothing is tried again. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the server holds the call until something happens: a long try that is cut was heard, so the count begins anew. */
  readonly waits: boolean;
}

/**
 * Makes a call that is safe to make twice, again and again while it fails in a
 * way that may pass, up to `callGiveUpMs` after the first failure in a row.
 */
export async function callPatiently<T>(
  call: () => Promise<T>,
  { retry, clock, random }: PatienceSettings,
  { signal, waits }: CallManners,
): Promise<T> {
  let failures = 0;
  let firstFailureMs = 0;
  /** Counts a failure, and returns how long to wait; throws it where nothing is tried again. */
  const nextWaitMs = (failure: HarnessRpcError, beganMs: number): number => {
    const nowMs = clock.now();
    if (waits && failure.code !== Code.DeadlineExceeded && nowMs - beganMs > retry.maxDelayMs) failures = 0;
    if (failures === 0) firstFailureMs = nowMs;
    const waitMs = retryDelayMs(retry, ++failures, failure, random);
    const isLate = nowMs - firstFailureMs + waitMs >= retry.callGiveUpMs;
    if (signal?.aborted || isLate || !isRetryable(failure)) throw failure;
    return waitMs;
  };
  for (;;) {
    const beganMs = clock.now();
    try {
      return await call();
    } catch (error) {
      await delay(clock, nextWaitMs(toRpcError(error), beganMs), signal);
    }
  }
}

/**
 * How long to wait after `failures` failures in a row (from 1): full jitter, so
 * that clients cut at the same moment do not come back at the same moment. At
 * least what the server asked for. `random` yields numbers from 0 to below 1.
 */
export function retryDelayMs(
  { baseDelayMs, maxDelayMs }: RetryPolicy,
  failures: number,
  error: HarnessRpcError,
  random: () => number,
): number {
  const ceilingMs = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(failures - 1, 30));
  return (error.retryAfterMs ?? 0) + random() * ceilingMs;
}

/** A stream ended early, and will be opened again. */
export interface FollowRetry {
  readonly error: HarnessRpcError;
  /** How long until then. */
  readonly delayMs: number;
  /** How many streams in a row were short and brought no new event, this one included. */
  readonly failures: number;
}

/** Decides about the next try of a stream. */
export interface Patience {
  opened(): void;
  /** A frame arrived; `progress` when it brought new events. */
  heard(progress: boolean): void;
  /** What to do about a stream that ended early. Throws the error once it has failed for too long with nothing arriving. */
  failed(error: HarnessRpcError): FollowRetry;
}

export function createPatience({ retry, clock, random }: PatienceSettings): Patience {
  let failures = 0;
  let openedMs = clock.now();
  /** When it first failed after the last frame. Not since that frame: a reader may be long over it, and a laptop asleep. */
  let failingSinceMs: number | undefined;
  return {
    opened() {
      openedMs = clock.now();
    },
    heard(progress) {
      failingSinceMs = undefined;
      if (progress) failures = 0;
    },
    failed(error) {
      const nowMs = clock.now();
      failingSinceMs ??= nowMs;
      failures = nowMs - openedMs > retry.maxDelayMs ? 1 : failures + 1;
      const delayMs = retryDelayMs(retry, failures, error, random);
      if (nowMs - failingSinceMs + delayMs > retry.streamGiveUpMs) throw error;
      return { error, delayMs, failures };
    },
  };
}
