import { create, fromBinary } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { AttachExecutionResponseSchema } from "../../gen/ts/harnessruntime/v1/attach_pb.js";
import {
  type ListEventsResponse,
  ListEventsResponseSchema,
  type WatchEventsResponse,
  WatchEventsResponseSchema,
} from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { EVENTS_FIELD } from "../core/chunk.js";
import type { WatchBatch } from "../core/runtime.js";

/** The 5 bytes before each message of a gRPC, gRPC-Web or Connect stream: flags and length. */
const ENVELOPE_BYTES = 5;
/** The most bytes that a tag and a varint of 32 bits take, for fields up to 15 and above. */
const MAX_FIELD_BYTES = 7;

const watch = WatchEventsResponseSchema.field;
const attachEvents = AttachExecutionResponseSchema.field.events.number;

/**
 * An enveloped message, ready to be written: one buffer, or the parts of one so
 * large that to copy its events would cost more than to write it in parts.
 */
export type Frame = Uint8Array | readonly Uint8Array[];

/** From how many bytes of events a frame is left in parts. */
const PARTS_FROM_BYTES = 32 * 1024;

/** The frames of a batch, made once for all readers that share it. */
interface Frames {
  watch?: Frame;
  attach?: Frame;
}

const framesOf = new WeakMap<WatchBatch, Frames>();

/** Returns a batch as an enveloped WatchEventsResponse. Shared: do not change it. */
export function watchFrame(batch: WatchBatch): Frame {
  const frames = sharedFrames(batch);
  frames.watch ??= encodeFrame(batch, undefined);
  return frames.watch;
}

/** Returns a batch as an enveloped AttachExecutionResponse. Shared: do not change it. */
export function attachFrame(batch: WatchBatch): Frame {
  const frames = sharedFrames(batch);
  frames.attach ??= encodeFrame(batch, attachEvents);
  return frames.attach;
}

/** Whether a batch is so large that its frame is left in parts. */
export function isLarge({ parts }: WatchBatch): boolean {
  return sizeOf(parts) >= PARTS_FROM_BYTES;
}

/** Returns an encoded message with its envelope. */
export function envelope(message: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(ENVELOPE_BYTES + message.length);
  writeEnvelope(frame, message.length);
  frame.set(message, ENVELOPE_BYTES);
  return frame;
}

/**
 * Returns a batch as a message. Without `decode` its events stay encoded, in a
 * field that only the binary form writes.
 */
export function watchMessage(batch: WatchBatch, decode: boolean): WatchEventsResponse {
  const message = decode
    ? fromBinary(WatchEventsResponseSchema, batch.bytes)
    : keepEncoded(create(WatchEventsResponseSchema), batch.bytes);
  message.nextAfterSequence = batch.nextAfterSequence;
  message.headSequence = batch.headSequence;
  message.state = batch.state;
  return message;
}

/** Returns a batch as a page, as {@link watchMessage} does. */
export function listMessage(batch: WatchBatch, decode: boolean): ListEventsResponse {
  const message = decode
    ? fromBinary(ListEventsResponseSchema, batch.bytes)
    : keepEncoded(create(ListEventsResponseSchema), batch.bytes);
  message.nextAfterSequence = batch.nextAfterSequence;
  message.headSequence = batch.headSequence;
  return message;
}

/** Gives `message` encoded events. They are a field like any other to the wire, whose first tag the writer adds. */
function keepEncoded<T extends WatchEventsResponse | ListEventsResponse>(message: T, events: Uint8Array): T {
  if (events.length > 0) {
    message.$unknown = [{ no: EVENTS_FIELD, wireType: WireType.LengthDelimited, data: events.subarray(1) }];
  }
  return message;
}

function sharedFrames(batch: WatchBatch): Frames {
  let frames = framesOf.get(batch);
  if (frames === undefined) {
    frames = {};
    framesOf.set(batch, frames);
  }
  return frames;
}

/** Encodes a WatchEventsResponse, as the field `within` of another message where one is named. */
function encodeFrame(batch: WatchBatch, within: number | undefined): Frame {
  const tail = encodeTail(batch);
  const sizeBytes = sizeOf(batch.parts) + tail.length;
  const head = Buffer.allocUnsafe(ENVELOPE_BYTES + 2 * MAX_FIELD_BYTES);
  let headBytes = ENVELOPE_BYTES;
  if (within !== undefined) {
    headBytes = writeVarint(head, headBytes, (within << 3) | WireType.LengthDelimited);
    headBytes = writeVarint(head, headBytes, sizeBytes);
  }
  writeEnvelope(head, headBytes - ENVELOPE_BYTES + sizeBytes);
  const parts = [head.subarray(0, headBytes), ...batch.parts, tail];
  return sizeBytes < PARTS_FROM_BYTES ? Buffer.concat(parts) : parts;
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Encodes what follows the events. */
function encodeTail({ nextAfterSequence, headSequence, state }: WatchBatch): Uint8Array {
  const tail = Buffer.allocUnsafe(3 * MAX_FIELD_BYTES);
  let at = writeField(tail, 0, watch.nextAfterSequence.number, nextAfterSequence);
  at = writeField(tail, at, watch.headSequence.number, headSequence);
  at = writeField(tail, at, watch.state.number, state);
  return tail.subarray(0, at);
}

function writeEnvelope(frame: Buffer, messageBytes: number): void {
  frame[0] = 0;
  frame.writeUInt32BE(messageBytes, 1);
}

/** Writes a varint field, or nothing where it has its default; returns where it ends. */
function writeField(target: Buffer, at: number, field: number, value: number): number {
  if (value === 0) return at;
  return writeVarint(target, writeVarint(target, at, (field << 3) | WireType.Varint), value);
}

function writeVarint(target: Buffer, at: number, value: number): number {
  let offset = at;
  let rest = value;
  while (rest > 0x7f) {
    target[offset++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[offset++] = rest;
  return offset;
}
