import {
  type ActionRow,
  type AnswerRow,
  type Append,
  type ArtifactRow,
  type ConversationRow,
  type ExecutionKey,
  type ExecutionRow,
  type IdempotencyRecord,
  IdempotencyTakenError,
  type InputRow,
  type StartRecord,
  type StoredExecution,
} from "../core/store.js";
import { MemoryLog } from "./memory-log.js";
import { OrderedRows } from "./ordered-rows.js";
import { alreadyThere, fenced, sequenceConflict } from "./refusals.js";

/** An execution in memory, with its log and its side rows. */
export interface MemoryExecution {
  readonly key: ExecutionKey;
  readonly id: string;
  readonly createTimeMs: number;
  readonly start: StartRecord;
  readonly log: MemoryLog;
  readonly actions: Map<string, MemoryAction>;
  readonly answers: Map<string, AnswerRow>;
  readonly inputs: Map<string, InputRow>;
  readonly artifacts: Map<string, ArtifactRow>;
  resumeState: Uint8Array | undefined;
  row: ExecutionRow;
  lastSequence: number;
  updateTimeMs: number;
  /** The last fencing number given; 0 before the first claim. */
  fence: number;
  /** Undefined before the first claim and after a release: then no fencing number is the current one. */
  owner: { readonly name: string; readonly leaseUntilMs: number } | undefined;
}

/** An action in memory; `row` is as last written. */
export interface MemoryAction {
  readonly id: string;
  readonly createTimeMs: number;
  readonly execution: MemoryExecution;
  row: ActionRow;
}

/** A conversation in memory. */
export interface MemoryConversation extends ConversationRow {
  readonly id: string;
}

/** Everything that one tenant has in a memory store. */
export class MemoryTenant {
  readonly executions = new Map<string, MemoryExecution>();
  readonly conversations = new Map<string, MemoryConversation>();
  readonly idempotency = new Map<string, IdempotencyRecord>();
  readonly executionOrder = new OrderedRows<MemoryExecution>();
  readonly actionOrder = new OrderedRows<MemoryAction>();
  readonly conversationOrder = new OrderedRows<MemoryConversation>();

  /** Applies `write`, or throws why not and changes nothing. */
  append(write: Append): void {
    const found = this.executions.get(write.key.executionId);
    this.#check(write, found);
    const execution = found ?? this.#create(write);
    if (write.create?.newConversation !== undefined) this.createConversation(write.create.newConversation, undefined);
    if (write.idempotency !== undefined) this.idempotency.set(write.idempotency.scope, write.idempotency);
    if (write.chunk !== undefined) execution.log.append(write.chunk);
    if (write.row !== undefined) execution.row = write.row;
    execution.lastSequence = write.lastSequence;
    execution.updateTimeMs = write.updateTimeMs;
    this.#writeSide(execution, write);
  }

  /** Drops executions, with all that belongs to them. */
  forget(isForgotten: (execution: MemoryExecution) => boolean): void {
    const forgotten = new Set([...this.executions.values()].filter(isForgotten));
    if (forgotten.size === 0) return;
    for (const { id } of forgotten) this.executions.delete(id);
    this.executionOrder.removeAll((execution) => forgotten.has(execution));
    this.actionOrder.removeAll(({ execution }) => forgotten.has(execution));
  }

  createConversation(conversation: ConversationRow, idempotency: IdempotencyRecord | undefined): void {
    this.#checkIdempotency(idempotency);
    this.#checkConversation(conversation);
    if (idempotency !== undefined) this.idempotency.set(idempotency.scope, idempotency);
    const id = conversation.conversationId;
    const row = { ...conversation, id };
    this.conversations.set(id, row);
    this.conversationOrder.add(row);
  }

  #check(write: Append, found: MemoryExecution | undefined): void {
    if (found !== undefined && write.fence !== undefined && !isFence(found, write.fence)) {
      throw fenced(write.key, write.fence);
    }
    this.#checkIdempotency(write.idempotency);
    const conflicts = write.create === undefined ? found?.lastSequence !== write.expected : found !== undefined;
    if (conflicts) throw sequenceConflict(write.key, write.expected, found?.lastSequence);
    checkArtifacts(found, write.side?.artifacts ?? []);
    this.#checkConversation(write.create?.newConversation);
  }

  #checkConversation(conversation: ConversationRow | undefined): void {
    const id = conversation?.conversationId;
    if (id !== undefined && this.conversations.has(id)) throw alreadyThere("a conversation", id);
  }

  #checkIdempotency(idempotency: IdempotencyRecord | undefined): void {
    const existing = idempotency && this.idempotency.get(idempotency.scope);
    if (existing !== undefined) throw new IdempotencyTakenError(existing);
  }

  #create({ key, create, row }: Append): MemoryExecution {
    if (create === undefined || row === undefined) throw new RangeError("not a write that creates");
    const execution: MemoryExecution = {
      key,
      id: key.executionId,
      createTimeMs: create.createTimeMs,
      start: create,
      log: new MemoryLog(),
      actions: new Map(),
      answers: new Map(),
      inputs: new Map(),
      artifacts: new Map(),
      resumeState: undefined,
      row,
      lastSequence: 0,
      updateTimeMs: 0,
      fence: 0,
      owner: undefined,
    };
    this.executions.set(key.executionId, execution);
    this.executionOrder.add(execution);
    return execution;
  }

  #writeSide(execution: MemoryExecution, { side }: Append): void {
    if (side === undefined) return;
    for (const row of side.actions ?? []) this.#writeAction(execution, row);
    for (const row of side.answers ?? []) execution.answers.set(row.actionId, row);
    for (const row of side.inputs ?? []) execution.inputs.set(row.inputId, row);
    for (const row of side.artifacts ?? []) execution.artifacts.set(row.artifactId, row);
    if (side.resumeState !== undefined) execution.resumeState = side.resumeState;
  }

  #writeAction(execution: MemoryExecution, row: ActionRow): void {
    const found = execution.actions.get(row.actionId);
    if (found !== undefined) {
      found.row = row;
      return;
    }
    const action = { id: row.actionId, createTimeMs: row.createTimeMs, execution, row };
    execution.actions.set(row.actionId, action);
    this.actionOrder.add(action);
  }
}

/** Returns whether `fence` is the execution's current fencing number. */
export function isFence(execution: MemoryExecution, fence: number): boolean {
  return execution.owner !== undefined && execution.fence === fence;
}

/** Returns an execution as the port gives it back. */
export function toStoredExecution(execution: MemoryExecution): StoredExecution {
  const { key, start, row, lastSequence, updateTimeMs, log } = execution;
  return {
    key,
    start: start.bytes,
    row: row.bytes,
    fold: row.fold,
    state: row.state,
    lastSequence,
    updateTimeMs,
    firstSequence: log.firstSequence,
  };
}

function checkArtifacts(execution: MemoryExecution | undefined, artifacts: readonly ArtifactRow[]): void {
  const ids = new Set<string>();
  for (const { artifactId } of artifacts) {
    if (ids.has(artifactId) || execution?.artifacts.has(artifactId)) throw alreadyThere("an artifact", artifactId);
    ids.add(artifactId);
  }
}
