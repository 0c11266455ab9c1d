import type { ActionKind, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { EventChunk } from "./chunk.js";
import type { HarnessError } from "./errors.js";

/**
 * What remembers: the port that every store implements. `test/store/contract.ts`
 * is its definition; a rule that is not tested there is not part of the port.
 *
 * Messages cross it encoded, so that a store never needs the contract's schema
 * to keep or to give back an event. Every key begins with the tenant.
 */
export interface Store {
  /** A short word for logs: `memory`, `sqlite`, … */
  readonly kind: string;
  /** Whether what `append` resolved for is still there after the process is killed. */
  readonly durable: boolean;
  /** Whether several processes may use it at once. One that is not shared voids every lease when it is opened. */
  readonly shared: boolean;
  /**
   * Resolves with the reason once nothing can be read or written any more, ever:
   * close the store then, and open it again. Never rejects, and stays pending
   * when the store is closed. Unset where a store cannot be lost.
   */
  readonly lost?: Promise<HarnessError>;

  /**
   * Writes all of `write` or nothing, and resolves once it is as durable as the
   * store is. Calls for one execution take effect in the order they were made,
   * also when they are not awaited; calls for different executions may share a
   * commit, in which one that is refused does not harm the others.
   *
   * Fails with SEQUENCE_CONFLICT where `expected` is not the log's last sequence
   * (or, with `create`, the execution exists), with FENCED where `fence` is not
   * the current one, with {@link IdempotencyTakenError}, or with STORE_UNAVAILABLE
   * where the store cannot keep it; then nothing of it was written.
   */
  append(write: Append): Promise<void>;

  /**
   * Returns stored events after `after`, oldest first, in chunks of about
   * `maxBytes` (at least one chunk where there is any event; a first chunk may
   * start at or before `after`: {@link sliceChunk} it). Undefined where there is
   * no such execution.
   */
  read(key: ExecutionKey, after: number, maxBytes: number): Promise<LogSlice | undefined>;

  /** Returns an execution as last written, or undefined. */
  getExecution(key: ExecutionKey): Promise<StoredExecution | undefined>;
  /** Returns executions, newest first (by create time, then ID), one page. */
  listExecutions(query: ExecutionQuery): Promise<Page<StoredExecution>>;
  /**
   * Returns all non-terminal executions of every tenant, oldest first: what a
   * runtime takes up when it starts.
   */
  listUnfinished(): Promise<readonly StoredExecution[]>;

  /** Returns an encoded `ActionRequest` of the execution, or undefined. */
  getAction(key: ExecutionKey, actionId: string): Promise<Uint8Array | undefined>;
  /** Returns the encoded actions that match, newest first (by create time, then ID), one page. */
  listActions(query: ActionQuery): Promise<Page<Uint8Array>>;
  /** Returns one answer, or undefined where the action has none. */
  getAnswer(key: ExecutionKey, actionId: string): Promise<AnswerRow | undefined>;
  /** Returns the body of one accepted input, or undefined. */
  getInput(key: ExecutionKey, inputId: string): Promise<InputRow | undefined>;
  /** Returns all side rows of one execution that a runner needs to go on with it. */
  getSideRows(key: ExecutionKey): Promise<SideRows>;

  /** Returns an encoded `Artifact` of the execution, or undefined. */
  getArtifact(key: ExecutionKey, artifactId: string): Promise<Uint8Array | undefined>;
  /** Returns the execution's encoded artifacts in the order of their events, one page. */
  listArtifacts(key: ExecutionKey, page: PageQuery): Promise<Page<Uint8Array>>;

  /** Stores a conversation; fails as {@link append} does where its idempotency key is taken or its ID exists. */
  createConversation(conversation: ConversationRow, idempotency?: IdempotencyRecord): Promise<void>;
  /** Returns an encoded `Conversation`, or undefined. */
  getConversation(tenantId: string, conversationId: string): Promise<Uint8Array | undefined>;
  /** Returns the tenant's encoded conversations, newest first, one page. */
  listConversations(query: ConversationQuery): Promise<Page<Uint8Array>>;

  /** Returns what was stored under an idempotency scope, or undefined. */
  findIdempotent(tenantId: string, scope: string): Promise<IdempotencyRecord | undefined>;

  /**
   * Makes `owner` the execution's owner until `leaseUntilMs` and returns the new
   * fencing number, one higher than the last (from 1). Returns undefined where
   * another owner's lease has not ended at `nowMs`, or there is no such execution.
   */
  claim(key: ExecutionKey, owner: string, nowMs: number, leaseUntilMs: number): Promise<number | undefined>;
  /** Extends a lease; false where `fence` is no longer the current one. */
  renew(key: ExecutionKey, fence: number, leaseUntilMs: number): Promise<boolean>;
  /** Ends a lease at once; nothing happens where `fence` is no longer the current one. */
  release(key: ExecutionKey, fence: number): Promise<void>;

  /**
   * Drops the events of terminal executions that ended before `endedBeforeMs`
   * (and carry all of `labels`), keeping each execution's row; a later read gives
   * `firstSequence` = last sequence + 1 of what was dropped. Returns how many
   * executions were trimmed.
   */
  trim(endedBeforeMs: number, labels?: Readonly<Record<string, string>>): Promise<number>;

  /**
   * Calls `listener` after each commit that another process may have made, with
   * the execution that changed: a hint, which may be lost or repeated. Returns a
   * function that ends it. A store of one process has nothing to tell.
   */
  onHint(listener: (key: ExecutionKey) => void): () => void;

  /** Ends what is under way, then releases everything. Idempotent; later calls fail with STORE_UNAVAILABLE. */
  close(): Promise<void>;
}

/** Names one execution. IDs are unique over tenants; the tenant is there so that no read can cross it. */
export interface ExecutionKey {
  readonly tenantId: string;
  readonly executionId: string;
}

/** One atomic write to one execution. */
export interface Append {
  readonly key: ExecutionKey;
  /** The log's last sequence before this write; 0 with `create`. */
  readonly expected: number;
  /** The owner's fencing number; unset for a command, which needs no ownership. */
  readonly fence?: number;
  /** The new events, `expected + 1` onwards; unset for a write of side rows alone. */
  readonly chunk?: EventChunk;
  /** The first write of an execution: its immutable part. */
  readonly create?: StartRecord;
  /** The mutable part, where it changed in more than the two fields below. */
  readonly row?: ExecutionRow;
  /** The log's last sequence after this write. */
  readonly lastSequence: number;
  /** The time of the last event, in milliseconds. */
  readonly updateTimeMs: number;
  /** Fails the write where the scope is taken. */
  readonly idempotency?: IdempotencyRecord;
  readonly side?: SideWrites;
}

/** An execution's immutable request part and the columns that lists filter by. */
export interface StartRecord {
  /** An encoded `Execution` with the immutable fields alone. */
  readonly bytes: Uint8Array;
  readonly conversationId: string;
  readonly providerId: string;
  readonly parentExecutionId: string;
  readonly rootExecutionId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createTimeMs: number;
  /** A conversation that is made with the execution, in the same write. */
  readonly newConversation?: ConversationRow;
}

/** An execution's mutable part. */
export interface ExecutionRow {
  /**
   * An encoded `Execution` with the mutable fields alone, but for `last_sequence`
   * and `update_time`. The start record's bytes followed by these decode to the whole.
   */
  readonly bytes: Uint8Array;
  /** The runtime's own part of the fold (JSON), which readers never see. */
  readonly fold: string;
  readonly state: ExecutionState;
  /** When it became terminal, in milliseconds; unset before. */
  readonly endTimeMs?: number;
}

/** An execution as a store gives it back. */
export interface StoredExecution {
  readonly key: ExecutionKey;
  readonly start: Uint8Array;
  readonly row: Uint8Array;
  readonly fold: string;
  readonly state: ExecutionState;
  readonly lastSequence: number;
  readonly updateTimeMs: number;
  /** The lowest sequence still stored; `lastSequence + 1` where none is. */
  readonly firstSequence: number;
}

/** What {@link Store.read} returns. */
export interface LogSlice {
  readonly chunks: readonly EventChunk[];
  /** The log's last sequence and state when it was read. */
  readonly headSequence: number;
  readonly state: ExecutionState;
  /** The lowest sequence still stored; `headSequence + 1` where none is. */
  readonly firstSequence: number;
}

/** Rows written with an event that announces them and that readers of the log must not see. */
export interface SideWrites {
  /** Actions as they now are; written over by ID. */
  readonly actions?: readonly ActionRow[];
  /** Answers' full content, by action; written over (`delivered` goes from false to true). */
  readonly answers?: readonly AnswerRow[];
  /** Bodies of accepted inputs. */
  readonly inputs?: readonly InputRow[];
  /** New artifacts; one whose ID the execution has fails the write with SEQUENCE_CONFLICT. */
  readonly artifacts?: readonly ArtifactRow[];
  /** The provider's opaque state, at most 1 MiB; replaces the last. */
  readonly resumeState?: Uint8Array;
}

export interface ActionRow {
  readonly actionId: string;
  readonly kind: ActionKind;
  readonly state: ActionState;
  readonly providerId: string;
  readonly createTimeMs: number;
  /** The provider's own stable key for the request. */
  readonly actionKey: string;
  /** An encoded `ActionRequest`. */
  readonly bytes: Uint8Array;
}

export interface AnswerRow {
  readonly actionId: string;
  /** An encoded `ActionResponse`, or empty where the action expired. */
  readonly bytes: Uint8Array;
  /** Whether the answer was (about to be) handed to the provider. */
  readonly delivered: boolean;
  readonly expired: boolean;
}

export interface InputRow {
  readonly inputId: string;
  /** An encoded `Content`. */
  readonly bytes: Uint8Array;
}

export interface ArtifactRow {
  readonly artifactId: string;
  /** An encoded `Artifact`. */
  readonly bytes: Uint8Array;
}

/** What {@link Store.getSideRows} returns. */
export interface SideRows {
  readonly actions: readonly ActionRow[];
  readonly answers: readonly AnswerRow[];
  readonly inputs: readonly InputRow[];
  readonly artifactIds: readonly string[];
  readonly resumeState: Uint8Array | undefined;
}

/** What an idempotency key stands for. */
export interface IdempotencyRecord {
  /** The key with all that limits it, without the tenant. */
  readonly scope: string;
  /** The request's digest: equal for equivalent requests. */
  readonly digest: string;
  /** What the first request made. */
  readonly resourceId: string;
}

/** Thrown by a write whose idempotency scope is taken; carries what is stored under it. */
export class IdempotencyTakenError extends Error {
  override readonly name = "IdempotencyTakenError";
  constructor(readonly existing: IdempotencyRecord) {
    super("the idempotency key is taken");
  }
}

export interface PageQuery {
  /** The most items to return, from 1. */
  readonly pageSize: number;
  /** The last page's `nextPageToken`; empty for the first page. A token that is not ours: VALIDATION_ERROR on `page_token`. */
  readonly pageToken: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Filters that are empty or unset do not filter. */
export interface ExecutionQuery extends PageQuery {
  readonly tenantId: string;
  readonly conversationId?: string;
  readonly providerId?: string;
  readonly parentExecutionId?: string;
  readonly rootExecutionId?: string;
  readonly states?: readonly ExecutionState[];
  /** Every one of them with this very value. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Filters that are empty or unset do not filter. */
export interface ActionQuery extends PageQuery {
  readonly tenantId: string;
  readonly executionId?: string;
  readonly providerId?: string;
  readonly states?: readonly ActionState[];
  readonly kinds?: readonly ActionKind[];
}

export interface ConversationQuery extends PageQuery {
  readonly tenantId: string;
  /** Every one of them with this very value. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ConversationRow {
  readonly tenantId: string;
  readonly conversationId: string;
  readonly createTimeMs: number;
  readonly labels: Readonly<Record<string, string>>;
  /** An encoded `Conversation`. */
  readonly bytes: Uint8Array;
}
