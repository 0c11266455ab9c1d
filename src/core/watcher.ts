import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { EventChunk } from "./chunk.js";
import { HarnessError, notFound } from "./errors.js";
import { isTerminal } from "./lifecycle.js";
import { MAX_FRAME_BYTES } from "./limits.js";
import { type BatchBounds, joined, LogBatch, takeBatch } from "./log-batch.js";
import type { Pulsed } from "./pulse.js";
import type { WatchBatch, Watcher, WatchPace } from "./runtime.js";
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
  /** The most events shown in one batch. */
  readonly maxEvents: number;
  readonly follow: boolean;
  /** How large batches are. */
  readonly pace: WatchPace;
  /** Called once, at the end. */
  readonly onClose: (watcher: LogWatcher) => void;
}

/** A part of the log as the store gave it. */
interface Slice {
  /** What is left of it, the next chunk last. */
  readonly chunks: EventChunk[];
  /** The last sequence taken of it. */
  cursor: number;
  /** The head and the state when it was read. */
  readonly headSequence: number;
  readonly state: ExecutionState;
}

/** Ticks that a reader may be away before what is left of its slice is given up. */
const HELD_TICKS = 2;

/** Batches that one slice is read for, where the reader takes them at their largest. */
const SLICE_BATCHES = 3;

/** A cursor over stored events: memory for the end of the log, the store for the rest. */
export class LogWatcher implements Watcher, Pulsed {
  readonly #options: WatcherOptions;
  /** Names what readers of one tail may share. */
  readonly #view: string;
  #cursor: number;
  /** How large the next batch may be. */
  #batchBytes: number;
  /** What is left of the slice last read, as long as batches are taken of it. */
  #held: Slice | undefined;
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
    this.#batchBytes = options.pace.firstBytes;
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
    this.#held = undefined;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#options.onClose(this);
    this.#wake?.();
  }

  tick(ticks: number): void {
    this.#idleTicks++;
    if (this.#idleTicks >= HELD_TICKS) this.#held = undefined;
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
    this.#grow(batch);
    return batch;
  }

  /** A reader that takes what it is given, and has more to come, is given more at once. */
  #grow({ parts }: WatchBatch): void {
    const { mostBytes } = this.#options.pace;
    if (this.#batchBytes >= mostBytes) return;
    const sizeBytes = parts.reduce((sum, { length }) => sum + length, 0);
    if (sizeBytes > this.#batchBytes / 2) this.#batchBytes = Math.min(2 * this.#batchBytes, mostBytes);
  }

  get #bounds(): BatchBounds {
    const { payloadFields, maxEvents } = this.#options;
    return { payloadFields, maxEvents, maxBytes: this.#batchBytes };
  }

  /** The next batch where the tail has it (or there is none to come), else undefined. */
  #fromMemory(): WatchBatch | undefined {
    const { tail } = this.#options;
    for (;;) {
      const cursor = this.#cursor;
      if (cursor >= tail.headSequence) return this.#atHead(tail);
      const next = tail.read(cursor);
      if (next === undefined) return undefined;
      this.#held = undefined;
      const batch = tail.share(`${cursor}|${this.#batchBytes}|${this.#view}`, () => {
        const taken = takeBatch(next, cursor, this.#bounds);
        return this.#toBatch(joined(taken.parts), taken.lastSequence, tail);
      });
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
    return this.#toBatch([], this.#cursor, { headSequence, state: tail.state });
  }

  /** What memory does not have: older events from the store, a heartbeat, or nothing after something woke it. */
  async #elsewhere(): Promise<WatchBatch | undefined> {
    if (this.#isBehindMemory()) return await this.#fromStore();
    if (this.#beat) return this.#empty();
    this.#held = undefined;
    this.#batchBytes = this.#options.pace.firstBytes;
    await this.#wait();
    return undefined;
  }

  #isBehindMemory(): boolean {
    const { tail } = this.#options;
    return !this.#closed && this.#cursor < tail.headSequence && this.#cursor + 1 < tail.firstSequence;
  }

  async #fromStore(): Promise<WatchBatch | undefined> {
    const { tail } = this.#options;
    const slice = this.#takeHeld() ?? (await this.#read());
    const { parts, lastSequence, rest } = takeBatch(() => slice.chunks.pop(), this.#cursor, this.#bounds);
    if (lastSequence === this.#cursor) throw new Error("the store has no events where its head says so");
    if (rest !== undefined) slice.chunks.push(rest);
    slice.cursor = lastSequence;
    if (slice.chunks.length > 0 && !this.#closed) this.#held = slice;
    const shown = this.#options.payloadFields === undefined ? parts : joined(parts);
    const batch = this.#toBatch(shown, lastSequence, tail.headSequence > slice.headSequence ? tail : slice);
    if (this.#isWorthShowing(batch) || this.#beat) return batch;
    this.#cursor = batch.nextAfterSequence;
    return undefined;
  }

  #takeHeld(): Slice | undefined {
    const held = this.#held;
    this.#held = undefined;
    return held?.cursor === this.#cursor ? held : undefined;
  }

  async #read(): Promise<Slice> {
    const { store, key, pace } = this.#options;
    const cursor = this.#cursor;
    // A reader that has not shown yet that it reads holds up no more than its next batch.
    const batches = this.#batchBytes < pace.mostBytes ? 1 : SLICE_BATCHES;
    const slice = await store.read(key, cursor, Math.min(batches * this.#batchBytes, MAX_FRAME_BYTES));
    if (slice === undefined) throw notFound("execution", key.executionId);
    if (slice.firstSequence > cursor + 1) throw cursorExpired(key.executionId, slice.firstSequence);
    return { chunks: slice.chunks.toReversed(), cursor, headSequence: slice.headSequence, state: slice.state };
  }

  #toBatch(
    parts: readonly Uint8Array[],
    nextAfterSequence: number,
    { headSequence, state }: Pick<Slice, "headSequence" | "state">,
  ): WatchBatch {
    const last = nextAfterSequence >= headSequence && (isTerminal(state) || !this.#options.follow);
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
