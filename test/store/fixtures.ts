import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect } from "vitest";
import { ActionKind, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { decodeChunk, type EventChunk, encodeChunk, sliceChunk } from "../../src/core/chunk.js";
import type {
  ActionRow,
  Append,
  ArtifactRow,
  ConversationRow,
  ExecutionKey,
  ExecutionRow,
  StartRecord,
  Store,
} from "../../src/core/store.js";

/** How a suite opens the store under test, empty. */
export type OpenStore = () => Promise<Store>;

/** Opens one store for all tests of a suite; a test keeps to a tenant of its own. */
export function useStore(open: OpenStore): () => Store {
  let store: Store;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(async () => {
    await store.close();
  });
  return () => store;
}

export const TIME_MS = 1_764_000_000_000;

let made = 0;

/** A name that no other test uses. */
export function unique(prefix: string): string {
  return `${prefix}_${String(++made).padStart(6, "0")}`;
}

export function newKey(tenantId = unique("tenant")): ExecutionKey {
  return { tenantId, executionId: unique("exe") };
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** `count` events after the sequence `after`, each with about `sizeBytes` of text that tells them apart. */
export function deltas({ executionId }: ExecutionKey, after: number, count: number, sizeBytes = 8): EventChunk {
  const events = Array.from({ length: count }, (_, index) => {
    const sequence = after + index + 1;
    return create(EventSchema, {
      executionId,
      sequence,
      time: timestampFromMs(TIME_MS + sequence),
      attempt: 1,
      turn: 1,
      payload: { case: "outputTextDelta", value: { text: `${sequence};`.padEnd(sizeBytes, "x") } },
    });
  });
  return encodeChunk(events);
}

export function rowOf(state: ExecutionState, more: Partial<ExecutionRow> = {}): ExecutionRow {
  return { bytes: bytesOf(`row in ${ExecutionState[state]}`), fold: JSON.stringify({ state }), state, ...more };
}

export function startOf(more: Partial<StartRecord> = {}): StartRecord {
  return {
    bytes: bytesOf("start"),
    conversationId: "cnv_1",
    providerId: "scripted",
    parentExecutionId: "",
    rootExecutionId: "root_1",
    labels: {},
    createTimeMs: TIME_MS,
    ...more,
  };
}

/** The first write of an execution: one event, state QUEUED. */
export function creation(key: ExecutionKey, start: Partial<StartRecord> = {}, more: Partial<Append> = {}): Append {
  return {
    key,
    expected: 0,
    chunk: deltas(key, 0, 1),
    create: startOf(start),
    row: rowOf(ExecutionState.QUEUED),
    lastSequence: 1,
    updateTimeMs: TIME_MS,
    ...more,
  };
}

/** A write of `count` events after `expected`. */
export function appending(key: ExecutionKey, expected: number, count = 1, more: Partial<Append> = {}): Append {
  return {
    key,
    expected,
    chunk: deltas(key, expected, count),
    lastSequence: expected + count,
    updateTimeMs: TIME_MS + expected + count,
    ...more,
  };
}

/** A write of no events. */
export function sideOnly(key: ExecutionKey, expected: number, more: Partial<Append>): Append {
  return { key, expected, lastSequence: expected, updateTimeMs: TIME_MS, ...more };
}

/** The write that ends an execution at `endTimeMs`. */
export function ending(key: ExecutionKey, expected: number, endTimeMs = TIME_MS + 1000): Append {
  return appending(key, expected, 1, { row: rowOf(ExecutionState.SUCCEEDED, { endTimeMs }) });
}

/** Makes an execution with `count` events and returns its key. */
export async function makeExecution(
  store: Store,
  start: Partial<StartRecord> = {},
  { key = newKey(), count = 1 } = {},
): Promise<ExecutionKey> {
  await store.append(creation(key, start));
  if (count > 1) await store.append(appending(key, 1, count - 1));
  return key;
}

export function action(actionId: string, more: Partial<ActionRow> = {}): ActionRow {
  return {
    actionId,
    kind: ActionKind.APPROVAL,
    state: ActionState.PENDING,
    providerId: "scripted",
    createTimeMs: TIME_MS,
    actionKey: `key of ${actionId}`,
    bytes: bytesOf(`action ${actionId}`),
    ...more,
  };
}

export function artifact(artifactId: string): ArtifactRow {
  return { artifactId, bytes: bytesOf(`artifact ${artifactId}`) };
}

export function conversation(tenantId: string, more: Partial<ConversationRow> = {}): ConversationRow {
  const conversationId = more.conversationId ?? unique("cnv");
  const bytes = bytesOf(`conversation ${conversationId}`);
  return { tenantId, conversationId, createTimeMs: TIME_MS, labels: {}, bytes, ...more };
}

/** Reads the events after `after` to the end in slices of `maxBytes`, as a follower would, and checks that none is missing. */
export async function readSequences(store: Store, key: ExecutionKey, after = 0, maxBytes = 1 << 20): Promise<number[]> {
  const sequences: number[] = [];
  let cursor = after;
  for (;;) {
    const slice = await store.read(key, cursor, maxBytes);
    const chunks = (slice?.chunks ?? [])
      .map((chunk) => sliceChunk(chunk, cursor))
      .filter((chunk) => chunk !== undefined);
    if (chunks.length === 0) return sequences;
    for (const event of chunks.flatMap(decodeChunk)) {
      expect(event.executionId).toBe(key.executionId);
      sequences.push(event.sequence);
    }
    cursor = chunks.at(-1)?.lastSequence ?? cursor;
  }
}

/** The numbers from `first` to `last`, both included. */
export function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}

/** Bytes as text, so that what differs can be read and byte arrays of different classes are equal. */
export function text(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
}
