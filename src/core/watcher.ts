import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { type EventChunk, filterChunk, sliceChunk, splitChunk } from "./chunk.js";
import { HarnessError, notFound } from "./errors.js";
import { isTerminal } from "./lifecycle.js";
import { MAX_FRAME_BYTES } from "./limits.js";
import { LogBatch } from "./log-batch.js";
import type { WatchBatch, Watcher } from "./runtime.js";
import type { ExecutionKey, Store } from "./store.js";
import type { Tail } from "./tail.js";

/** What a reader looks at and how. */
export interface WatcherOptions {
  readonly store: Store;
  readonly key: ExecutionKey;
  readonly tail: Tail;
  readonly afterSequence: number;
  /** The payload fields to show; undefined shows all. */
  readonly payloadFields: ReadonlySet<number> | undefined;
  /** The most events in one batch. */
  readonly maxEvents: number;
  readonly follow: boolean;
  /** Called once, at the end. */
  readonly onClose: (watcher: LogWatcher) => void;
}

/** A part of the log and the head when it was read. */
interface Range {
  readonly chunks: readonly EventChunk[];
  readonly headSequence: number;
  readonly state: ExecutionState;
}

/** A cursor over stored events: memory for the end of the log, the store for the rest. */
export class LogWatcher implements Watcher {
  readonly #options: WatcherOptions;
  /** Names what readers of one tail may share. */
  readonly #view: string;
  #cursor: number;
  #shown = false;
  #done = false;
  #closed = false;
  #beat = false;
  #idleTicks = 0;
  #wake: (() => void) | undefined;
  #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.close();

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#cursor = options.afterSequence;
    const fields = options.payloadFields === undefined ? "" : [...options.payloadFields].sort((a, b) => a - b).join();
    this.#view = `${options.maxEvents}|${options.follow}|${fields}`;
  }

  get afterSequence(): number {
    return this.#cursor;
  }

  async next(signal?: AbortSignal): Promise<WatchBatch | undefined> {
    this.#follow(signal);
    while (!this.#closed && !this.#done) {
      const batch = this.#fromMemory() ?? (await this.#elsewhere());
      if (batch !== undefined) return this.#show(batch);
    }
    return undefined;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#options.onClose(this);
    this.#wake?.();
  }

  /** Counts one tick; after `ticks` without a batch the reader is due an empty one: the heartbeat. */
  tick(ticks: number): void {
    this.#idleTicks++;
    if (this.#idleTicks < ticks) return;
    this.#idleTicks = 0;
    this.#beat = true;
    this.#wake?.();
  }

  #follow(signal: AbortSignal | undefined): void {
    if (signal === undefined || signal === this.#signal) return;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#signal = signal;
    if (signal.aborted) this.close();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  #show(batch: WatchBatch): WatchBatch {
    this.#shown = true;
    this.#beat = false;
    this.#idleTicks = 0;
    this.#cursor = batch.nextAfterSequence;
    this.#done = batch.last;
    return batch;
  }

  /** The next batch where the tail has it (or there is none to come), else undefined. */
  #fromMemory(): WatchBatch | undefined {
    const { tail, maxEvents } = this.#options;
    for (;;) {
      const cursor = this.#cursor;
      if (cursor >= tail.headSequence) return this.#atHead(tail);
      const batch = tail.share(`${cursor}|${this.#view}`, () => {
        const chunk = tail.read(cursor, maxEvents, MAX_FRAME_BYTES);
        return chunk && this.#toBatch({ chunks: [chunk], headSequence: tail.headSequence, state: tail.state });
      });
      if (batch === undefined) return undefined;
      if (this.#isWorthShowing(batch)) return batch;
      this.#cursor = batch.nextAfterSequence;
    }
  }

  #atHead(tail: Tail): WatchBatch | undefined {
    return this.#shown && !tail.isOver && this.#options.follow ? undefined : this.#empty();
  }

  #empty(): WatchBatch {
    const { tail } = this.#options;
    const headSequence = Math.max(tail.headSequence, this.#cursor);
    return this.#toBatch({ chunks: [], headSequence, state: tail.state });
  }

  /** What memory does not have: older events from the store, a heartbeat, or nothing after something woke it. */
  async #elsewhere(): Promise<WatchBatch | undefined> {
    if (this.#isBehindMemory()) return await this.#fromStore();
    if (this.#beat) return this.#empty();
    await this.#wait();
    return undefined;
  }

  #isBehindMemory(): boolean {
    const { tail } = this.#options;
    return !this.#closed && this.#cursor < tail.headSequence && this.#cursor + 1 < tail.firstSequence;
  }

  async #fromStore(): Promise<WatchBatch | undefined> {
    const batch = this.#toBatch(await this.#read());
    if (batch.nextAfterSequence === this.#cursor) throw new Error("the store has no events where its head says so");
    if (this.#isWorthShowing(batch) || this.#beat) return batch;
    this.#cursor = batch.nextAfterSequence;
    return undefined;
  }

  async #read(): Promise<Range> {
    const { store, key, maxEvents } = this.#options;
    const slice = await store.read(key, this.#cursor, MAX_FRAME_BYTES);
    if (slice === undefined) throw notFound("execution", key.executionId);
    if (slice.firstSequence > this.#cursor + 1) throw cursorExpired(key.executionId, slice.firstSequence);
    const chunks = takeFrame(slice.chunks, this.#cursor, maxEvents);
    return { chunks, headSequence: slice.headSequence, state: slice.state };
  }

  #toBatch({ chunks, headSequence, state }: Range): WatchBatch {
    const { payloadFields, follow } = this.#options;
    const nextAfterSequence = chunks.at(-1)?.lastSequence ?? this.#cursor;
    const parts =
      payloadFields === undefined
        ? chunks.map(({ bytes }) => bytes)
        : chunks.map((chunk) => filterChunk(chunk, payloadFields)).filter(({ length }) => length > 0);
    const last = nextAfterSequence >= headSequence && (isTerminal(state) || !follow);
    return new LogBatch(parts, nextAfterSequence, headSequence, state, last);
  }

  /** A filter may hide all of a range: then only the first and the last batch are worth a frame. */
  #isWorthShowing(batch: WatchBatch): boolean {
    return batch.parts.length > 0 || batch.last || !this.#shown;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const forget = this.#options.tail.wait(() => this.#wake?.());
      this.#wake = () => {
        this.#wake = undefined;
        forget();
        resolve();
      };
    });
  }
}

/** Returns what of `stored` one frame takes after `cursor`: chunks as they are, the last one split where it must be. */
function takeFrame(stored: readonly EventChunk[], cursor: number, maxEvents: number): EventChunk[] {
  const taken: EventChunk[] = [];
  let leftEvents = maxEvents;
  let leftBytes = MAX_FRAME_BYTES;
  for (const chunk of stored) {
    const part = sliceChunk(chunk, cursor);
    if (part === undefined) continue;
    if (leftEvents === 0 || (taken.length > 0 && part.bytes.length > leftBytes)) break;
    const [fitting, rest] = splitChunk(part, leftEvents, MAX_FRAME_BYTES);
    taken.push(fitting);
    leftBytes -= fitting.bytes.length;
    leftEvents = rest === undefined ? leftEvents - (fitting.lastSequence - fitting.firstSequence + 1) : 0;
  }
  return taken;
}

/** The error for a cursor below what the log still has. */
export function cursorExpired(executionId: string, firstSequence: number): HarnessError {
  return new HarnessError(
    ErrorReason.CURSOR_EXPIRED,
    `the events of execution ${executionId} before ${firstSequence} are no longer kept; go on after_sequence ${firstSequence - 1}`,
    { execution_id: executionId, first_sequence: String(firstSequence) },
  );
}

/** The error for a cursor beyond the head. */
export function cursorAhead(executionId: string, headSequence: number): HarnessError {
  return new HarnessError(
    ErrorReason.CURSOR_AHEAD,
    `execution ${executionId} has ${headSequence} events; use an after_sequence of at most that`,
    { execution_id: executionId, head_sequence: String(headSequence) },
  );
}
