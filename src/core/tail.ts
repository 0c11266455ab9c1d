import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { EventChunk } from "./chunk.js";
import { isTerminal } from "./lifecycle.js";

/** How many things made for readers are kept: readers at one place come close together. */
const MAX_SHARED = 8;

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
  /** What readers at the same place were last given since the head moved, the least recently used first. */
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
   * Returns a function that gives the chunks with events after `after` one by one, the first as it lies here;
   * undefined where those events are not in memory or there are none.
   */
  read(after: number): (() => EventChunk | undefined) | undefined {
    if (after + 1 < this.firstSequence || after >= this.#headSequence) return undefined;
    const chunks = this.#chunks;
    let index = this.#indexAfter(after);
    return () => chunks[index++];
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

  /** Returns what `make` made for the same `name` since the head last moved, so that readers at one place share it; only the latest are kept. */
  share<T>(name: string, make: () => T): T {
    const made = this.#shared.has(name) ? (this.#shared.get(name) as T) : make();
    this.#shared.delete(name);
    this.#shared.set(name, made);
    if (this.#shared.size > MAX_SHARED) this.#shared.delete(this.#shared.keys().next().value as string);
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
