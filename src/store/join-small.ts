import type { EventChunk } from "../core/chunk.js";

/** What a stored chunk is brought to, in bytes, by splitting large ones and joining small ones. */
export const CHUNK_BYTES = 64 * 1024;

/** Joins consecutive chunks, oldest first, as long as they stay within {@link CHUNK_BYTES}; larger ones stay as they are. */
export function joinSmall(chunks: Iterable<EventChunk>): EventChunk[] {
  const joined: EventChunk[] = [];
  let open: EventChunk[] = [];
  let sizeBytes = 0;
  for (const chunk of chunks) {
    if (open.length > 0 && sizeBytes + chunk.bytes.length > CHUNK_BYTES) {
      joined.push(join(open, sizeBytes));
      open = [];
      sizeBytes = 0;
    }
    open.push(chunk);
    sizeBytes += chunk.bytes.length;
  }
  if (open.length > 0) joined.push(join(open, sizeBytes));
  return joined;
}

/** Joins into bytes that lie alone in their buffer, so that it can be transferred. */
function join(chunks: readonly EventChunk[], sizeBytes: number): EventChunk {
  const [first, last] = [chunks[0], chunks.at(-1)];
  if (first === undefined || last === undefined) throw new RangeError("nothing to join");
  if (chunks.length === 1) return first;
  const bytes = new Uint8Array(sizeBytes);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk.bytes, offset);
    offset += chunk.bytes.length;
  }
  return { firstSequence: first.firstSequence, lastSequence: last.lastSequence, bytes };
}
