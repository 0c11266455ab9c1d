import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { type EventChunk, joinChunks, sliceChunk, splitChunk } from "./chunk.js";
import { isTerminal } from "./lifecycle.js";

/**
 * The end of one execution's log in memory: the last stored events, the head,
 * and who waits for more. Readers share its bytes; those further behind read the
 * store. Whoever publishes publishes only what is stored.
 */
export class Tail {
  readonly #maxBytes: number;
  #chunks: EventChunk[] = [];
  #sizeBytes = 0;
  #headSequence: number;
  #state: ExecutionState;
  #waiting = new Set<() => void>();
  /** What readers at the same place were given since the head last moved. */
  readonly #shared = new Map<string, unknown>();

  constructor(maxBytes: number, headSequence: number, state: ExecutionState) {
    this.#maxBytes = maxBytes;
    this.#headSequence = headSequence;
    this.#state = state;
  }

  get headSequence(): number {
    return this.#headSequence;
  }

  /** The execution's state at the head. */
  get state(): ExecutionState {
    return this.#state;
  }

  get isOver(): boolean {
    return isTerminal(this.#state);
  }

  /** The lowest sequence in memory; one above the head where nothing is. */
  get firstSequence(): number {
    return this.#chunks[0]?.firstSequence ?? this.#headSequence + 1;
  }

  /** Moves the head and wakes everybody. Without a chunk that follows the head, what is in memory is forgotten. */
  publish(chunk: EventChunk | undefined, headSequence: number, state: ExecutionState): void {
    if (chunk?.firstSequence === this.#headSequence + 1) this.#keep(chunk);
    else if (headSequence !== this.#headSequence) this.#forget();
    this.#headSequence = headSequence;
    this.#state = state;
    this.#shared.clear();
    this.wake();
  }

  #keep(chunk: EventChunk): void {
    this.#chunks.push(chunk);
    this.#sizeBytes += chunk.bytes.length;
    let drop = 0;
    while (this.#sizeBytes > this.#maxBytes && drop < this.#chunks.length) {
      this.#sizeBytes -= this.#chunks[drop]?.bytes.length ?? 0;
      drop++;
    }
    if (drop > 0) this.#chunks = this.#chunks.slice(drop);
  }

  #forget(): void {
    this.#chunks = [];
    this.#sizeBytes = 0;
  }

  /**
   * Returns the events after `after`, at most about `maxBytes` and `maxEvents`,
   * as one chunk; undefined where they are not in memory or there are none.
   */
  read(after: number, maxEvents: number, maxBytes: number): EventChunk | undefined {
    if (after + 1 < this.firstSequence || after >= this.#headSequence) return undefined;
    const parts: EventChunk[] = [];
    let sizeBytes = 0;
    for (let index = this.#indexAfter(after); index < this.#chunks.length && sizeBytes < maxBytes; index++) {
      const part = sliceChunk(this.#chunks[index] as EventChunk, after);
      if (part === undefined) continue;
      if (parts.length > 0 && sizeBytes + part.bytes.length > maxBytes) break;
      parts.push(part);
      sizeBytes += part.bytes.length;
    }
    return parts.length === 0 ? undefined : splitChunk(joinChunks(parts), maxEvents, maxBytes)[0];
  }

  /** The first chunk that has an event after `after`: chunks are in order, so by halves. */
  #indexAfter(after: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#chunks[middle]?.lastSequence ?? 0) > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Returns what `make` made for the same `name` since the head last moved, so that readers at one place share it. */
  share<T>(name: string, make: () => T): T {
    if (this.#shared.has(name)) return this.#shared.get(name) as T;
    const made = make();
    this.#shared.set(name, made);
    return made;
  }

  /** Calls `run` once, at the next publication or wake-up; the returned function takes it back. */
  wait(run: () => void): () => void {
    this.#waiting.add(run);
    return () => this.#waiting.delete(run);
  }

  /** Whether anybody waits. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Wakes everybody who waits, although nothing may have changed. */
  wake(): void {
    const woken = this.#waiting;
    this.#waiting = new Set();
    for (const run of woken) run();
  }
}
