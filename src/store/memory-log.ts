import type { EventChunk } from "../core/chunk.js";
import { CHUNK_BYTES, joinSmall } from "./join-small.js";
import { storedChunks } from "./stored-chunks.js";

/** Small chunks are joined once there are so many, or so many bytes of them. */
const LOOSE_CHUNKS = 256;

/** One execution's events in memory. */
export class MemoryLog {
  /** The lowest sequence kept; one more than the last where none is. */
  firstSequence = 1;
  #chunks: EventChunk[] = [];
  /** How many chunks at the end of the log were not joined yet, and their bytes. */
  #loose = 0;
  #looseBytes = 0;

  append(chunk: EventChunk): void {
    for (const part of storedChunks(chunk)) {
      this.#chunks.push(part);
      this.#loose++;
      this.#looseBytes += part.bytes.length;
    }
    if (this.#loose >= LOOSE_CHUNKS || this.#looseBytes >= CHUNK_BYTES) this.#join();
  }

  /** Returns chunks with events after `after`, until they hold `maxBytes`; at least one where there is any. */
  read(after: number, maxBytes: number): EventChunk[] {
    const found: EventChunk[] = [];
    let sizeBytes = 0;
    for (let index = this.#indexAfter(after); index < this.#chunks.length && sizeBytes < maxBytes; index++) {
      const chunk = this.#chunks[index];
      if (chunk === undefined) break;
      found.push(chunk);
      sizeBytes += chunk.bytes.length;
    }
    return found;
  }

  /** Drops everything; the log then begins after `lastSequence`. */
  trim(lastSequence: number): void {
    this.#chunks = [];
    this.#loose = 0;
    this.#looseBytes = 0;
    this.firstSequence = lastSequence + 1;
  }

  #join(): void {
    const loose = this.#chunks.splice(-this.#loose);
    this.#chunks.push(...joinSmall(loose));
    this.#loose = 0;
    this.#looseBytes = 0;
  }

  /** The index of the first chunk with an event after `after`. */
  #indexAfter(after: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle]?.lastSequence ?? 0) > after) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
