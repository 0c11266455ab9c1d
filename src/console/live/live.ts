import { Code } from "@connectrpc/connect";
import { type Signal, signal } from "@preact/signals";
import { HarnessRpcError, isRetryable, toRpcError } from "../../client/errors.js";
import { retryDelayMs } from "../../client/retry.js";
import { client, noteRefusal } from "../session.js";
import { pause, untilVisible } from "./pulse.js";
import { takeStreamSlot } from "./stream-slot.js";

/** How current what a view shows is. */
export type Link =
  | { readonly state: "connecting" }
  /** A stream is open and was heard. */
  | { readonly state: "live" }
  /** Other tabs have all the streams: asked every second. */
  | { readonly state: "polling" }
  /** The connection was lost; it is tried again by itself. */
  | { readonly state: "lost"; readonly error: HarnessRpcError; readonly retryTimeMs: number }
  /** Nothing more will come. */
  | { readonly state: "ended" }
  /** The server refuses, or what it sent cannot be. */
  | { readonly state: "failed"; readonly error: unknown };

/** Where a view's data come from. Both ways resolve with whether everything has come. */
export interface LiveSource {
  /** Reads one stream to its end; calls `heard` with every frame, heartbeats among them. Unset: there is none. */
  stream?(signal: AbortSignal, heard: () => void): Promise<boolean>;
  /** Asks once. */
  poll(signal: AbortSignal): Promise<boolean>;
  /** How long after an answer it asks again. Default a second. */
  readonly pollIntervalMs?: number;
}

/** A view's data that are kept current until `close`. */
export interface Live {
  readonly link: Signal<Link>;
  /** Does not wait for the next try. */
  retryNow(): void;
  close(): void;
}

const POLL_INTERVAL_MS = 1_000;
/** No try follows the one before sooner. */
const FIRST_WAIT_MS = 100;
/** A stream that is silent for three heartbeats is taken for dead. */
const SILENCE_MS = 3 * client.settings.heartbeatIntervalMs;

/**
 * Keeps a view current while the page is visible: by one stream where the
 * browser has a connection to spare, else by asking every second. A hidden page
 * has none. What was lost is opened again, where the source left off.
 */
export function keepLive(source: LiveSource): Live {
  const link = signal<Link>({ state: "connecting" });
  const closed = new AbortController();
  let skip = new AbortController();
  void follow(source, link, closed.signal, () => skip.signal);
  return {
    link,
    retryNow() {
      skip.abort();
      skip = new AbortController();
    },
    close: () => closed.abort(),
  };
}

async function follow(
  source: LiveSource,
  link: Signal<Link>,
  closed: AbortSignal,
  skip: () => AbortSignal,
): Promise<void> {
  let failures = 0;
  const heard = (state: "live" | "polling"): void => {
    failures = 0;
    if (link.value.state !== state && !closed.aborted) link.value = { state };
  };
  const retry = async (error: HarnessRpcError): Promise<void> => {
    failures++;
    const waitMs = FIRST_WAIT_MS + retryDelayMs(client.settings.retry, failures, error, Math.random);
    // A stream that was cut is opened again with nothing to say about it, if that succeeds.
    if (failures > 1) link.value = { state: "lost", error, retryTimeMs: Date.now() + waitMs };
    await pause(waitMs, AbortSignal.any([closed, skip()])).catch(() => undefined);
  };
  let end: RoundEnd = { state: "hidden" };
  while (end.state !== "ended" && end.state !== "failed") {
    end = await followOnce(source, heard, closed);
    if (closed.aborted) return;
    if (end.state === "lost") await retry(end.error);
  }
  link.value = end;
}

/** How one stream, or one question, ended. */
type RoundEnd =
  | { readonly state: "ended" }
  | { readonly state: "polling" }
  | { readonly state: "hidden" }
  | { readonly state: "lost"; readonly error: HarnessRpcError }
  | { readonly state: "failed"; readonly error: unknown };

/** Why a stream ends when its page is hidden. */
const HIDDEN = new DOMException("the page is hidden", "AbortError");

/** One stream, or one question and a wait, while the page is visible. */
async function followOnce(
  source: LiveSource,
  heard: (state: "live" | "polling") => void,
  closed: AbortSignal,
): Promise<RoundEnd> {
  try {
    await untilVisible(closed);
    return { state: (await readOnce(source, heard, closed)) ? "ended" : "polling" };
  } catch (error) {
    if (error === HIDDEN) return { state: "hidden" };
    if (isRetryable(error)) return { state: "lost", error: toRpcError(error) };
    noteRefusal(error);
    return { state: "failed", error };
  }
}

/** Resolves with whether everything has come. Throws {@link HIDDEN} when the page is hidden meanwhile. */
async function readOnce(
  source: LiveSource,
  heard: (state: "live" | "polling") => void,
  closed: AbortSignal,
): Promise<boolean> {
  const round = openRound(closed);
  const slot = source.stream === undefined ? undefined : await takeStreamSlot();
  try {
    if (slot === undefined || source.stream === undefined) return await ask(source, heard, round.signal);
    const take = (): void => {
      round.heard();
      heard("live");
    };
    if (await source.stream(round.signal, take)) return true;
    throw new HarnessRpcError("the server ended the stream", Code.Unavailable);
  } catch (error) {
    // A call that was aborted may fail in words of its own.
    throw round.signal.aborted ? round.signal.reason : error;
  } finally {
    slot?.release();
    round.end();
  }
}

async function ask(source: LiveSource, heard: (state: "polling") => void, signal: AbortSignal): Promise<boolean> {
  const ended = await source.poll(signal);
  heard("polling");
  if (!ended) await pause(source.pollIntervalMs ?? POLL_INTERVAL_MS, signal);
  return ended;
}

/** The time of one stream: over when the page is hidden, when nothing is heard for too long, or with `closed`. */
function openRound(closed: AbortSignal): { readonly signal: AbortSignal; heard(): void; end(): void } {
  const over = new AbortController();
  const hide = (): void => {
    if (document.hidden) over.abort(HIDDEN);
  };
  const silent = (): void => over.abort(toRpcError(new Error(`nothing arrived for ${SILENCE_MS / 1000} s`)));
  let timer = setTimeout(silent, SILENCE_MS);
  document.addEventListener("visibilitychange", hide);
  hide();
  return {
    signal: AbortSignal.any([closed, over.signal]),
    heard() {
      clearTimeout(timer);
      timer = setTimeout(silent, SILENCE_MS);
    },
    end() {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", hide);
    },
  };
}
