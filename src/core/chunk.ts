import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";

/**
 * Consecutive events of one execution, encoded once, when they are appended:
 * the wire form of a `repeated Event` field with the number 1. A response that
 * has its events there is therefore the joined chunks and a few bytes more.
 * Whoever holds a chunk may share its bytes and must not change them.
 */
export interface EventChunk {
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly bytes: Uint8Array;
}

/** The field number that every response gives its `events`; a test holds the contract to it. */
export const EVENTS_FIELD = 1;

/** The tag of field 1, length-delimited. */
const TAG = 0x0a;
/** Envelope fields of `Event` end here; the payload's oneof begins at 20. */
const FIRST_PAYLOAD_FIELD = 20;

/** Encodes events with consecutive sequences; at least one. */
export function encodeChunk(events: readonly Event[]): EventChunk {
  const first = events[0];
  const last = events.at(-1);
  if (first === undefined || last === undefined) throw new RangeError("a chunk has at least one event");
  const encoded = events.map((event) => toBinary(EventSchema, event));
  let sizeBytes = 0;
  for (const event of encoded) sizeBytes += 1 + varintSize(event.length) + event.length;
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let offset = 0;
  for (const event of encoded) {
    bytes[offset++] = TAG;
    offset = writeVarint(bytes, offset, event.length);
    bytes.set(event, offset);
    offset += event.length;
  }
  return { firstSequence: first.sequence, lastSequence: last.sequence, bytes };
}

/** Decodes a chunk's events, oldest first. */
export function decodeChunk(chunk: EventChunk): Event[] {
  return Array.from(frames(chunk.bytes), ({ start, end }) => fromBinary(EventSchema, chunk.bytes.subarray(start, end)));
}

/** Returns the part of `chunk` after the sequence `after`, sharing its bytes; undefined where nothing is left. */
export function sliceChunk(chunk: EventChunk, after: number): EventChunk | undefined {
  if (after < chunk.firstSequence) return chunk;
  if (after >= chunk.lastSequence) return undefined;
  let skip = after - chunk.firstSequence + 1;
  for (const { end } of frames(chunk.bytes)) {
    skip--;
    if (skip === 0) {
      return { firstSequence: after + 1, lastSequence: chunk.lastSequence, bytes: chunk.bytes.subarray(end) };
    }
  }
  throw new RangeError(`the chunk ends before its last sequence ${chunk.lastSequence}`);
}

/**
 * Splits `chunk` into one of at most `maxEvents` events and about `maxBytes`
 * (at least one event), and the rest, if any. Both share its bytes.
 */
export function splitChunk(
  chunk: EventChunk,
  maxEvents: number,
  maxBytes: number,
): readonly [EventChunk, EventChunk | undefined] {
  const count = chunk.lastSequence - chunk.firstSequence + 1;
  if (count <= maxEvents && chunk.bytes.length <= maxBytes) return [chunk, undefined];
  let taken = 0;
  let cut = 0;
  for (const { end } of frames(chunk.bytes)) {
    if (taken > 0 && (taken >= maxEvents || end > maxBytes)) break;
    taken++;
    cut = end;
  }
  if (taken === count) return [chunk, undefined];
  const lastSequence = chunk.firstSequence + taken - 1;
  return [
    { firstSequence: chunk.firstSequence, lastSequence, bytes: chunk.bytes.subarray(0, cut) },
    { firstSequence: lastSequence + 1, lastSequence: chunk.lastSequence, bytes: chunk.bytes.subarray(cut) },
  ];
}

/**
 * Joins consecutive chunks into one. Chunks that do not follow one another are
 * a bug of the caller and throw.
 */
export function joinChunks(chunks: readonly EventChunk[]): EventChunk {
  const first = chunks[0];
  const last = chunks.at(-1);
  if (first === undefined || last === undefined) throw new RangeError("nothing to join");
  if (chunks.length === 1) return first;
  for (const [index, chunk] of chunks.entries()) {
    const before = chunks[index - 1];
    if (before !== undefined && before.lastSequence + 1 !== chunk.firstSequence) {
      throw new RangeError(`a gap between events ${before.lastSequence} and ${chunk.firstSequence}`);
    }
  }
  return {
    firstSequence: first.firstSequence,
    lastSequence: last.lastSequence,
    bytes: Buffer.concat(chunks.map((chunk) => chunk.bytes)),
  };
}

/**
 * Returns the wire form of those events of `chunk` whose payload field is in
 * `payloadFields`, without decoding any.
 */
export function filterChunk(chunk: EventChunk, payloadFields: ReadonlySet<number>): Uint8Array {
  const kept: Uint8Array[] = [];
  let frameStart = 0;
  for (const { start, end } of frames(chunk.bytes)) {
    if (payloadFields.has(payloadField(chunk.bytes.subarray(start, end))))
      kept.push(chunk.bytes.subarray(frameStart, end));
    frameStart = end;
  }
  return kept.length === 1 ? (kept[0] ?? new Uint8Array()) : Buffer.concat(kept);
}

/** Returns the payload's field number in an encoded event; 0 where it has none. */
function payloadField(event: Uint8Array): number {
  const reader = new BinaryReader(event);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field >= FIRST_PAYLOAD_FIELD) return field;
    reader.skip(wireType, field);
  }
  return 0;
}

/** The bounds of each event's own bytes. */
function* frames(bytes: Uint8Array): Generator<{ readonly start: number; readonly end: number }> {
  let offset = 0;
  while (offset < bytes.length) {
    let length = 0;
    let shift = 0;
    let byte = 0x80;
    offset++;
    while (byte & 0x80) {
      byte = bytes[offset++] ?? 0;
      length |= (byte & 0x7f) << shift;
      shift += 7;
    }
    yield { start: offset, end: offset + length };
    offset += length;
  }
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) size++;
  return size;
}

function writeVarint(target: Uint8Array, at: number, value: number): number {
  let offset = at;
  let rest = value;
  while (rest > 0x7f) {
    target[offset++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[offset++] = rest;
  return offset;
}
