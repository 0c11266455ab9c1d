import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { type EventChunk, filterChunk, sliceChunk, splitChunk } from "./chunk.js";
import type { WatchBatch } from "./runtime.js";

/** Events as the store gave them, in pieces, which are joined only for whoever asks. */
export class LogBatch implements WatchBatch {
  #joined: Uint8Array | undefined;

  constructor(
    readonly parts: readonly Uint8Array[],
    readonly nextAfterSequence: number,
    readonly headSequence: number,
    readonly state: ExecutionState,
    readonly last: boolean,
  ) {}

  get bytes(): Uint8Array {
    this.#joined ??= join(this.parts);
    return this.#joined;
  }
}

/** What one batch may have. */
export interface BatchBounds {
  /** The payload fields to show; undefined shows all. */
  readonly payloadFields: ReadonlySet<number> | undefined;
  /** The most events shown. */
  readonly maxEvents: number;
  /** The most bytes of events examined, but for one that is larger by itself. */
  readonly maxBytes: number;
}

/** What one batch takes of the log. */
export interface Taken {
  /** The shown events, in pieces. */
  readonly parts: readonly Uint8Array[];
  /** The last sequence examined. */
  readonly lastSequence: number;
  /** What was begun and is left for the next batch. */
  readonly rest: EventChunk | undefined;
}

/**
 * Takes of the chunks that `next` gives what one batch has after `after`: the range up to and with the
 * last event it may show, examining `maxBytes` at most (at least one event).
 */
export function takeBatch(next: () => EventChunk | undefined, after: number, bounds: BatchBounds): Taken {
  const parts: Uint8Array[] = [];
  let lastSequence = after;
  let leftEvents = bounds.maxEvents;
  let leftBytes = bounds.maxBytes;
  let rest = nextAfter(next, after);
  while (rest !== undefined && leftEvents > 0) {
    const { fitting, others, shown } = cut(rest, leftEvents, bounds);
    if (lastSequence > after && fitting.bytes.length > leftBytes) break;
    if (shown.length > 0) {
      parts.push(shown);
      leftEvents -= fitting.lastSequence - fitting.firstSequence + 1;
    }
    leftBytes -= fitting.bytes.length;
    lastSequence = fitting.lastSequence;
    rest = others ?? nextAfter(next, lastSequence);
  }
  return { parts, lastSequence, rest };
}

/** Cuts off what can be examined at once so that at most `leftEvents` are shown: behind a filter that is only known one by one. */
function cut(chunk: EventChunk, leftEvents: number, { payloadFields, maxBytes }: BatchBounds) {
  const maxEvents = payloadFields === undefined || leftEvents === Number.POSITIVE_INFINITY ? leftEvents : 1;
  const [fitting, others] = splitChunk(chunk, maxEvents, maxBytes);
  return { fitting, others, shown: payloadFields === undefined ? fitting.bytes : filterChunk(fitting, payloadFields) };
}

/** The next chunk's part after the sequence `after`. */
function nextAfter(next: () => EventChunk | undefined, after: number): EventChunk | undefined {
  for (let chunk = next(); chunk !== undefined; chunk = next()) {
    const part = sliceChunk(chunk, after);
    if (part !== undefined) return part;
  }
  return undefined;
}

/** Returns the same bytes in one piece; none where there are none. */
export function joined(parts: readonly Uint8Array[]): readonly Uint8Array[] {
  return parts.length < 2 ? parts : [join(parts)];
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array(), ...others] = parts;
  return others.length === 0 ? first : Buffer.concat(parts);
}
