import type { EventChunk } from "../../core/chunk.js";
import type { Append, ConversationRow, ExecutionKey, SideWrites, StartRecord } from "../../core/store.js";
import type { Operation } from "./messages.js";

/** The first buffer of a batch; each further one is twice as large, up to the last. */
const FIRST_BYTES = 4 * 1024;
const LAST_BYTES = 1024 * 1024;

/**
 * Operations as they go to another thread: with their bytes in a few buffers that
 * are handed over, since a view of a shared buffer would take all of it along.
 */
export interface PackedOperations {
  readonly operations: readonly Operation[];
  readonly buffers: readonly ArrayBuffer[];
}

/** Copies what the writer needs of `operations`, and nothing else of what the caller's objects may hold. */
export function packOperations(operations: readonly Operation[]): PackedOperations {
  const packer = new Packer();
  const packed = operations.map((operation) => packOperation(packer, operation));
  return { operations: packed, buffers: packer.buffers };
}

class Packer {
  readonly buffers: ArrayBuffer[] = [];
  #free = new Uint8Array(0);

  put(bytes: Uint8Array): Uint8Array {
    if (bytes.length > this.#free.length) this.#grow(bytes.length);
    this.#free.set(bytes);
    const placed = this.#free.subarray(0, bytes.length);
    this.#free = this.#free.subarray(bytes.length);
    return placed;
  }

  #grow(sizeBytes: number): void {
    const next = Math.min(FIRST_BYTES * 2 ** this.buffers.length, LAST_BYTES);
    const buffer = new ArrayBuffer(Math.max(next, sizeBytes));
    this.buffers.push(buffer);
    this.#free = new Uint8Array(buffer);
  }
}

function packOperation(packer: Packer, operation: Operation): Operation {
  if (operation.kind === "append") {
    const chunks = operation.chunks.map((chunk) => packChunk(packer, chunk));
    return { ...operation, write: packWrite(packer, operation.write), chunks };
  }
  if (operation.kind === "trim") return operation;
  if (operation.kind !== "conversation") return { ...operation, key: packKey(operation.key) };
  return { ...operation, conversation: packConversation(packer, operation.conversation) };
}

function packConversation(packer: Packer, row: ConversationRow): ConversationRow {
  const { tenantId, conversationId, createTimeMs, labels, bytes } = row;
  return { tenantId, conversationId, createTimeMs, labels: { ...labels }, bytes: packer.put(bytes) };
}

function packStart(packer: Packer, { newConversation, ...start }: StartRecord): StartRecord {
  return {
    ...packBytes(packer, start),
    labels: { ...start.labels },
    ...(newConversation !== undefined && { newConversation: packConversation(packer, newConversation) }),
  };
}

function packWrite(packer: Packer, write: Omit<Append, "chunk">): Omit<Append, "chunk"> {
  const { expected, fence, create, row, lastSequence, updateTimeMs, idempotency, side } = write;
  return {
    key: packKey(write.key),
    expected,
    lastSequence,
    updateTimeMs,
    ...(fence !== undefined && { fence }),
    ...(create !== undefined && { create: packStart(packer, create) }),
    ...(row !== undefined && { row: packBytes(packer, row) }),
    ...(idempotency !== undefined && { idempotency }),
    ...(side !== undefined && { side: packSide(packer, side) }),
  };
}

function packKey({ tenantId, executionId }: ExecutionKey): ExecutionKey {
  return { tenantId, executionId };
}

function packChunk(packer: Packer, { firstSequence, lastSequence, bytes }: EventChunk): EventChunk {
  return { firstSequence, lastSequence, bytes: packer.put(bytes) };
}

function packSide(packer: Packer, { actions, answers, inputs, artifacts, resumeState }: SideWrites): SideWrites {
  return {
    ...(actions !== undefined && { actions: actions.map((row) => packBytes(packer, row)) }),
    ...(answers !== undefined && { answers: answers.map((row) => packBytes(packer, row)) }),
    ...(inputs !== undefined && { inputs: inputs.map((row) => packBytes(packer, row)) }),
    ...(artifacts !== undefined && { artifacts: artifacts.map((row) => packBytes(packer, row)) }),
    ...(resumeState !== undefined && { resumeState: packer.put(resumeState) }),
  };
}

function packBytes<T extends { readonly bytes: Uint8Array }>(packer: Packer, row: T): T {
  return { ...row, bytes: packer.put(row.bytes) };
}
