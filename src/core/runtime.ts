import type { ActionRequest } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type {
  ListActionsRequest,
  ListActionsResponse,
  RespondActionRequest,
  WatchActionsRequest,
  WatchActionsResponse,
} from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import type { Artifact } from "../../gen/ts/harnessruntime/v1/artifact_pb.js";
import type { Conversation } from "../../gen/ts/harnessruntime/v1/conversation_pb.js";
import type {
  CreateConversationRequest,
  ListConversationsRequest,
  ListConversationsResponse,
} from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import type {
  CancelExecutionRequest,
  SendInputRequest,
  StartExecutionRequest,
  WithdrawInputRequest,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type {
  ListArtifactsRequest,
  ListArtifactsResponse,
  ListExecutionsRequest,
  ListExecutionsResponse,
  WatchExecutionsRequest,
  WatchExecutionsResponse,
} from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { Principal } from "../../gen/ts/harnessruntime/v1/principal_pb.js";
import type { ConformanceResult, Provider as ProviderEntry } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Clock } from "./clock.js";
import type { Ids } from "./ids.js";
import type { Log, Provider } from "./provider.js";
import type { Store } from "./store.js";

/** Who calls: from verified credentials only. */
export type Caller = Pick<Principal, "tenantId" | "userId">;

/** What a runtime is made of. */
export interface RuntimeOptions {
  /** Owned by the caller, who closes it after the runtime. */
  readonly store: Store;
  readonly providers?: readonly Provider[];
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Default: random, sorted by time. */
  readonly ids?: Ids;
  /** Names this process in events. Default: host name and process ID. */
  readonly node?: string;
  /** Default: silent. */
  readonly log?: Log;
  /** Providers' own files and scratch folders. Default: a folder of the system's temporary directory. */
  readonly dataDir?: string;
  /** Whether `action_responded` carries the answer's value. Default false. */
  readonly recordActionValues?: boolean;
  readonly limits?: Partial<RuntimeLimits>;
  /** When events of executions that are over are dropped; by default they are kept for ever. */
  readonly retention?: readonly RetentionRule[];
}

/** Drops the events of executions that ended long enough ago; their rows stay, and reads answer CURSOR_EXPIRED. */
export interface RetentionRule {
  /** How long after the end events are kept, in milliseconds. */
  readonly keepMs: number;
  /** Only executions with all of these labels; empty or unset: all executions. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Bounds that an operator may set. */
export interface RuntimeLimits {
  /** How often a watcher looks at the store although nothing woke it, in milliseconds. Default 1,000. */
  readonly pollIntervalMs: number;
  /** The longest silence of a stream of events or of a view, in milliseconds. Default 10,000. */
  readonly heartbeatIntervalMs: number;
  /** The events of one live execution that are kept in memory for its readers, in bytes. Default 256 KiB. */
  readonly tailBytes: number;
  /** How long a lost remote provider may take to come back, in milliseconds. Default 30,000. */
  readonly remoteGraceMs: number;
  /** The non-terminal executions of one tenant; further starts are QUOTA_EXCEEDED. Default 10,000. */
  readonly maxOpenExecutions: number;
}

/**
 * The commands and reads of the contract, without any wire: handlers, the
 * embedded engine and tests call the same thing. Every method that names a
 * resource fails with NOT_FOUND (or ACTION_NOT_FOUND, PROVIDER_NOT_FOUND) where
 * the caller's tenant has none of that name, and with a HarnessError always.
 */
export interface Runtime {
  /**
   * Preflight, idempotency, then the QUEUED execution. `minimum` fields left out of the request have the
   * contract's defaults. `executionId` is one that {@link RuntimeOptions.ids} made before, for a caller that
   * had to name the execution before it was there.
   */
  startExecution(caller: Caller, request: StartExecutionRequest, executionId?: string): Promise<Execution>;
  getExecution(caller: Caller, executionId: string): Promise<Execution>;
  /** The same in the wire form, mostly as it is kept. Shared: do not change it. */
  encodedExecution(caller: Caller, executionId: string): Promise<Uint8Array>;
  listExecutions(
    caller: Caller,
    request: ListExecutionsRequest,
  ): Promise<Omit<ListExecutionsResponse, "$typeName" | "$unknown">>;
  /** Resolves when the execution is terminal, or with its current state after `timeoutMs` or on abort. */
  waitExecution(caller: Caller, executionId: string, timeoutMs: number, signal?: AbortSignal): Promise<Execution>;
  cancelExecution(caller: Caller, request: CancelExecutionRequest, signal?: AbortSignal): Promise<Execution>;
  sendInput(caller: Caller, request: SendInputRequest): Promise<AcceptedInput>;
  withdrawInput(caller: Caller, request: WithdrawInputRequest): Promise<Execution>;

  respondAction(
    caller: Caller,
    request: RespondActionRequest,
  ): Promise<{ readonly action: ActionRequest; readonly execution: Execution }>;
  getAction(caller: Caller, executionId: string, actionId: string): Promise<ActionRequest>;
  listActions(
    caller: Caller,
    request: ListActionsRequest,
  ): Promise<Omit<ListActionsResponse, "$typeName" | "$unknown">>;

  getArtifact(caller: Caller, executionId: string, artifactId: string): Promise<Artifact>;
  listArtifacts(
    caller: Caller,
    request: ListArtifactsRequest,
  ): Promise<Omit<ListArtifactsResponse, "$typeName" | "$unknown">>;

  createConversation(caller: Caller, request: CreateConversationRequest): Promise<Conversation>;
  getConversation(caller: Caller, conversationId: string): Promise<Conversation>;
  listConversations(
    caller: Caller,
    request: ListConversationsRequest,
  ): Promise<Omit<ListConversationsResponse, "$typeName" | "$unknown">>;

  /** Every known provider, by ID; also those that are not available now. */
  listProviders(): readonly ProviderEntry[];
  getProvider(providerId: string): ProviderEntry;
  /** Keeps what a conformance run measured of a provider; shown with it from now on, until the process ends. */
  recordConformance(providerId: string, result: ConformanceResult): void;
  /** Adds a provider, or takes the place of the one with its ID; opens it, then takes up its queue. */
  addProvider(provider: Provider): Promise<void>;

  /**
   * Opens a reader of one execution's events at a cursor. Fails before anything
   * is read: NOT_FOUND, CURSOR_AHEAD, CURSOR_EXPIRED, VALIDATION_ERROR (negative
   * cursor, unknown event type). An open watcher counts as somebody watching for
   * the orphan policy; close it.
   */
  watchEvents(caller: Caller, options: WatchOptions): Promise<Watcher>;
  /**
   * The executions that match and then what becomes of them, or an empty frame after `heartbeatIntervalMs`; ends
   * with the signal and with the runtime. Coalesced to 4 a second an execution. Frames are of at most about 2 MiB.
   */
  watchExecutions(
    caller: Caller,
    request: WatchExecutionsRequest,
    signal: AbortSignal,
  ): AsyncIterable<Omit<WatchExecutionsResponse, "$typeName" | "$unknown">>;
  /** The same of actions. */
  watchActions(
    caller: Caller,
    request: WatchActionsRequest,
    signal: AbortSignal,
  ): AsyncIterable<Omit<WatchActionsResponse, "$typeName" | "$unknown">>;

  readonly limits: RuntimeLimits;
  /** Refuses new executions and inputs with SERVER_DRAINING from now on, and claims nothing more. */
  drain(): void;
  /**
   * Waits up to `graceMs` for running executions to end, but not for those that
   * wait for an answer and can be resumed; then stops owning them (they are
   * recovered by the next start) and closes providers. Idempotent.
   */
  close(graceMs?: number): Promise<void>;
}

export interface AcceptedInput {
  readonly inputId: string;
  /** The sequence of its `input_accepted`. */
  readonly sequence: number;
  readonly execution: Execution;
}

export interface WatchOptions {
  readonly executionId: string;
  /** Exclusive; 0 is from the beginning. */
  readonly afterSequence: number;
  /** Dotted names, `*` suffix allowed; empty is all. */
  readonly eventTypes: readonly string[];
  /** The most events in one batch; 0 is as many as fit 1 MiB. */
  readonly maxBatch: number;
  /** False: ends at the head instead of waiting there. */
  readonly follow: boolean;
  /** How large batches are; unset is as much as fits 1 MiB from the first on. */
  readonly pace?: WatchPace;
}

/**
 * How large the batches of a watcher are, in bytes of events: the first, and
 * those of a reader that has more to come has taken some. What a reader that stops
 * holds up in memory is one batch.
 */
export interface WatchPace {
  readonly firstBytes: number;
  readonly mostBytes: number;
}

/** What a watcher has next: one frame of a stream. */
export interface WatchBatch {
  /**
   * The wire form of the events (a `repeated Event` field 1), possibly empty.
   * Watchers at the same cursor with the same filter share one object.
   */
  readonly bytes: Uint8Array;
  /** The same in pieces, as they lie in memory: `bytes` joins them at its first use. None where there are no events. */
  readonly parts: readonly Uint8Array[];
  /** The last sequence examined, shown or filtered out: the cursor to go on from. */
  readonly nextAfterSequence: number;
  readonly headSequence: number;
  /** At the head. */
  readonly state: ExecutionState;
  /** The last batch: the execution is over for this reader (or, without `follow`, the head is reached). */
  readonly last: boolean;
}

/** A cursor over one execution's events. Not a queue: one that is not read holds nothing. */
export interface Watcher {
  /**
   * Resolves with the next batch: the first at once, empty if need be; then as
   * soon as there is an event after the cursor, or empty after
   * `heartbeatIntervalMs`; undefined after the last batch, after `close`, and
   * when `signal` is aborted. One call at a time.
   */
  next(signal?: AbortSignal): Promise<WatchBatch | undefined>;
  /** The cursor: what `RESUME_AFTER` tells the reader. */
  readonly afterSequence: number;
  /** Ends it; idempotent. */
  close(): void;
}
