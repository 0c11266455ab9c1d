import { type EventChunk, splitChunk } from "../core/chunk.js";
import { CHUNK_BYTES } from "./join-small.js";

/** Returns the parts under which `chunk` is stored: itself, or pieces of about {@link CHUNK_BYTES} where it is much larger. */
export function storedChunks(chunk: EventChunk): readonly EventChunk[] {
  if (chunk.bytes.length <= 2 * CHUNK_BYTES) return [chunk];
  const parts: EventChunk[] = [];
  let rest: EventChunk | undefined = chunk;
  while (rest !== undefined) {
    const [part, left]: readonly [EventChunk, EventChunk | undefined] = splitChunk(rest, Infinity, CHUNK_BYTES);
    parts.push(part);
    rest = left;
  }
  return parts;
}
