import { fromBinary } from "@bufbuild/protobuf";
import { type ActionRequest, ActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type {
  ListActionsRequest,
  RespondActionRequest,
  WatchActionsRequest,
} from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { type Artifact, ArtifactSchema } from "../../gen/ts/harnessruntime/v1/artifact_pb.js";
import { type Conversation, ConversationSchema } from "../../gen/ts/harnessruntime/v1/conversation_pb.js";
import type {
  CreateConversationRequest,
  ListConversationsRequest,
} from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type {
  CancelExecutionRequest,
  SendInputRequest,
  StartExecutionRequest,
  WithdrawInputRequest,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type {
  ListArtifactsRequest,
  ListExecutionsRequest,
  WatchExecutionsRequest,
} from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { ConformanceResult, Provider as ProviderEntry } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import {
  type CommandOptions,
  createConversation,
  getAction,
  notPending,
  respondAction,
  sendInput,
  sendToEnded,
  withdrawInput,
} from "./commands.js";
import { closedActionError } from "./decide-action.js";
import { draining } from "./draining.js";
import { HarnessError, invalid, notFound } from "./errors.js";
import { parseEventTypes } from "./event-name.js";
import { decodeFold, encodeExecution, encodeStored, toExecution } from "./fold.js";
import { FollowedTails } from "./followed-tails.js";
import { isTerminal } from "./lifecycle.js";
import { MAX_FRAME_BYTES } from "./limits.js";
import type { LiveExecution } from "./live-execution.js";
import { pageQuery } from "./paging.js";
import type { Provider } from "./provider.js";
import { Pulse } from "./pulse.js";
import type { AcceptedInput, Caller, Runtime, RuntimeLimits, Watcher, WatchOptions } from "./runtime.js";
import type { ExecutionKey, StoredExecution } from "./store.js";
import { Supervisor, type SupervisorOptions } from "./supervisor.js";
import type { Tail } from "./tail.js";
import { actionQuery, executionQuery, summaryOf, viewActions, viewExecutions } from "./views.js";
import { cursorAhead, cursorExpired, LogWatcher } from "./watcher.js";

/** The runtime of one process on one store. */
export class LocalRuntime implements Runtime {
  readonly limits: RuntimeLimits;
  readonly #options: Omit<SupervisorOptions, "getExecution" | "runtime">;
  readonly #supervisor: Supervisor;
  readonly #pulse: Pulse;
  readonly #tails: FollowedTails;
  /** Who waits for a live execution's end: a set of its own, for what a promise is told it keeps until it settles. */
  readonly #waiting = new WeakMap<LiveExecution, Set<() => void>>();
  #closed: Promise<void> | undefined;

  constructor(options: Omit<SupervisorOptions, "getExecution" | "runtime">) {
    this.#options = options;
    this.limits = options.limits;
    const getExecution = (caller: Caller, id: string): Promise<Execution> => this.getExecution(caller, id);
    this.#supervisor = new Supervisor({ ...options, runtime: this, getExecution });
    this.#pulse = new Pulse(options.clock, options.limits.heartbeatIntervalMs);
    this.#tails = new FollowedTails({ ...options, ...options.limits });
  }

  /** Takes up work; called once, before anything else. */
  async open(providers: readonly Provider[]): Promise<void> {
    await this.#supervisor.open(providers);
  }

  startExecution(caller: Caller, request: StartExecutionRequest, executionId?: string): Promise<Execution> {
    return this.#supervisor.starter.start(caller, request, executionId);
  }

  async getExecution(caller: Caller, executionId: string): Promise<Execution> {
    const live = this.#find(caller, executionId);
    if (live !== undefined) return toExecution(live.writer.committed);
    return toExecution(decodeFold(await this.#mustLoad(caller, executionId)));
  }

  async encodedExecution(caller: Caller, executionId: string): Promise<Uint8Array> {
    const live = this.#find(caller, executionId);
    if (live !== undefined) return encodeExecution(live.writer.committed);
    return encodeStored(await this.#mustLoad(caller, executionId));
  }

  async listExecutions(caller: Caller, request: ListExecutionsRequest) {
    const query = { ...executionQuery(caller, request), ...pageQuery(request) };
    const { items, nextPageToken } = await this.#options.store.listExecutions(query);
    return { executions: items.map((stored) => summaryOf(toExecution(decodeFold(stored)))), nextPageToken };
  }

  async waitExecution(
    caller: Caller,
    executionId: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Execution> {
    const live = this.#find(caller, executionId);
    if (live !== undefined) await this.#over(live, timeoutMs, signal);
    return await this.getExecution(caller, executionId);
  }

  async cancelExecution(caller: Caller, request: CancelExecutionRequest, signal?: AbortSignal): Promise<Execution> {
    const { executionId, reason, wait } = request;
    const live = await this.#mustFind(caller, executionId);
    await live?.cancel(reason, caller);
    if (wait && live !== undefined) await this.#over(live, undefined, signal);
    return live === undefined ? await this.getExecution(caller, executionId) : toExecution(live.writer.committed);
  }

  async sendInput(caller: Caller, request: SendInputRequest): Promise<AcceptedInput> {
    const live = await this.#mustFind(caller, request.executionId);
    if (live !== undefined) return await sendInput(this.#commands, live, caller, request, this.#supervisor.isDraining);
    return await sendToEnded(this.#commands, toKey(caller, request.executionId), request);
  }

  async withdrawInput(caller: Caller, request: WithdrawInputRequest): Promise<Execution> {
    const live = await this.#mustFind(caller, request.executionId);
    if (live !== undefined) return await withdrawInput(this.#commands, live, request);
    const key = toKey(caller, request.executionId);
    throw await notPending(this.#options.store, key, request.executionId, request.inputId);
  }

  async respondAction(caller: Caller, request: RespondActionRequest) {
    const live = await this.#mustFind(caller, request.executionId);
    if (live !== undefined) return await respondAction(this.#commands, live, caller, request);
    throw closedActionError(await getAction(this.#options.store, toKey(caller, request.executionId), request.actionId));
  }

  async getAction(caller: Caller, executionId: string, actionId: string): Promise<ActionRequest> {
    await this.#mustFind(caller, executionId);
    return await getAction(this.#options.store, toKey(caller, executionId), actionId);
  }

  async listActions(caller: Caller, request: ListActionsRequest) {
    const query = { ...actionQuery(caller, request), ...pageQuery(request) };
    const { items, nextPageToken } = await this.#options.store.listActions(query);
    return { actions: items.map((bytes) => fromBinary(ActionRequestSchema, bytes)), nextPageToken };
  }

  async getArtifact(caller: Caller, executionId: string, artifactId: string): Promise<Artifact> {
    await this.#mustFind(caller, executionId);
    const bytes = await this.#options.store.getArtifact(toKey(caller, executionId), artifactId);
    if (bytes === undefined) throw notFound("artifact", artifactId);
    return fromBinary(ArtifactSchema, bytes);
  }

  async listArtifacts(caller: Caller, request: ListArtifactsRequest) {
    await this.#mustFind(caller, request.executionId);
    const page = await this.#options.store.listArtifacts(toKey(caller, request.executionId), pageQuery(request));
    return {
      artifacts: page.items.map((bytes) => fromBinary(ArtifactSchema, bytes)),
      nextPageToken: page.nextPageToken,
    };
  }

  async createConversation(caller: Caller, request: CreateConversationRequest): Promise<Conversation> {
    if (this.#supervisor.isDraining) throw draining();
    return await createConversation(this.#commands, caller, request);
  }

  async getConversation({ tenantId }: Caller, conversationId: string): Promise<Conversation> {
    const bytes = await this.#options.store.getConversation(tenantId, conversationId);
    if (bytes === undefined) throw notFound("conversation", conversationId);
    return fromBinary(ConversationSchema, bytes);
  }

  async listConversations({ tenantId }: Caller, request: ListConversationsRequest) {
    const query = { tenantId, labels: request.labels, ...pageQuery(request) };
    const { items, nextPageToken } = await this.#options.store.listConversations(query);
    return { conversations: items.map((bytes) => fromBinary(ConversationSchema, bytes)), nextPageToken };
  }

  listProviders(): readonly ProviderEntry[] {
    return this.#supervisor.registry.all().map((provider) => this.#entry(provider));
  }

  getProvider(providerId: string): ProviderEntry {
    return this.#entry(this.#supervisor.registry.get(providerId));
  }

  recordConformance(providerId: string, result: ConformanceResult): void {
    this.#supervisor.registry.measured(providerId, result);
  }

  async addProvider(provider: Provider): Promise<void> {
    await this.#supervisor.addProvider(provider);
  }

  async watchEvents(caller: Caller, options: WatchOptions): Promise<Watcher> {
    const { executionId, afterSequence, eventTypes, maxBatch, follow, pace = WHOLE } = options;
    const payloadFields = parseEventTypes(eventTypes);
    if (afterSequence < 0) throw invalid("after_sequence", "it must not be negative; 0 is the beginning");
    if (maxBatch < 0) throw invalid("max_batch", "it must not be negative; 0 is as many as fit");
    const { tail, release } = await this.#open(caller, executionId, afterSequence);
    const watcher = new LogWatcher({
      store: this.#options.store,
      key: toKey(caller, executionId),
      tail,
      afterSequence,
      payloadFields,
      maxEvents: maxBatch === 0 ? Number.POSITIVE_INFINITY : maxBatch,
      follow,
      pace,
      onClose: (closed) => {
        this.#pulse.remove(closed);
        release();
      },
    });
    this.#pulse.add(watcher);
    return watcher;
  }

  async *watchExecutions(caller: Caller, request: WatchExecutionsRequest, signal: AbortSignal) {
    for await (const { items, ...rest } of viewExecutions(this.#views, caller, request, signal)) {
      yield { executions: items, ...rest };
    }
  }

  async *watchActions(caller: Caller, request: WatchActionsRequest, signal: AbortSignal) {
    for await (const { items, ...rest } of viewActions(this.#views, caller, request, signal)) {
      yield { actions: items, ...rest };
    }
  }

  drain(): void {
    this.#supervisor.drain();
  }

  close(graceMs = 0): Promise<void> {
    this.#closed ??= this.#close(graceMs);
    return this.#closed;
  }

  async #close(graceMs: number): Promise<void> {
    await this.#supervisor.close(graceMs);
    this.#pulse.closeAll();
    this.#tails.close();
  }

  get #commands(): CommandOptions {
    return { ...this.#options, registry: this.#supervisor.registry };
  }

  get #views() {
    const { store } = this.#options;
    return { store, hub: this.#supervisor.hub, pulse: this.#pulse, getExecution: this.getExecution.bind(this) };
  }

  #entry(provider: Provider): ProviderEntry {
    return this.#supervisor.registry.entry(provider, this.#supervisor.activeOf(provider.manifest.id));
  }

  #find({ tenantId }: Caller, executionId: string): LiveExecution | undefined {
    return this.#supervisor.live.find(tenantId, executionId);
  }

  async #mustLoad(caller: Caller, executionId: string): Promise<StoredExecution> {
    const stored = await this.#options.store.getExecution(toKey(caller, executionId));
    if (stored === undefined) throw notFound("execution", executionId);
    return stored;
  }

  /** Returns a live execution, or undefined for one that is over; fails with NOT_FOUND. */
  async #mustFind(caller: Caller, executionId: string): Promise<LiveExecution | undefined> {
    const live = this.#find(caller, executionId);
    if (live !== undefined) return live;
    const stored = await this.#mustLoad(caller, executionId);
    if (isTerminal(stored.state)) return undefined;
    throw new HarnessError(
      ErrorReason.SEQUENCE_CONFLICT,
      `execution ${executionId} is run by another process; send the command there`,
      { execution_id: executionId },
    );
  }

  /** Waits until an execution is over, `timeoutMs` passed (unset: for ever), or the signal is aborted. */
  async #over(live: LiveExecution, timeoutMs: number | undefined, signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#options;
    await new Promise<void>((resolve) => {
      const forget = this.#onOver(live, () => done());
      const disarm = timeoutMs === undefined ? undefined : clock.after(timeoutMs, () => done());
      const done = (): void => {
        disarm?.();
        forget();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      signal?.addEventListener("abort", done, { once: true });
      if (signal?.aborted) done();
    });
  }

  /** Calls `run` once the execution is over; the returned function takes it back. */
  #onOver(live: LiveExecution, run: () => void): () => void {
    const waiting = this.#waiting.get(live) ?? new Set();
    if (!this.#waiting.has(live)) {
      this.#waiting.set(live, waiting);
      void live.over.then(() => {
        this.#waiting.delete(live);
        for (const each of waiting) each();
      });
    }
    waiting.add(run);
    return () => waiting.delete(run);
  }

  /** Opens the tail of an execution at a cursor that its log has. */
  async #open(caller: Caller, executionId: string, after: number): Promise<{ tail: Tail; release: () => void }> {
    const live = this.#find(caller, executionId);
    if (live !== undefined && after <= live.tail.headSequence) return { tail: live.tail, release: live.watch() };
    const stored = await this.#mustLoad(caller, executionId);
    if (after > stored.lastSequence) throw cursorAhead(executionId, stored.lastSequence);
    if (after + 1 < stored.firstSequence) throw cursorExpired(executionId, stored.firstSequence);
    return live === undefined ? this.#tails.open(stored) : { tail: live.tail, release: live.watch() };
  }
}

/** As much in a batch as a frame may have. */
const WHOLE = { firstBytes: MAX_FRAME_BYTES, mostBytes: MAX_FRAME_BYTES };

function toKey({ tenantId }: Caller, executionId: string): ExecutionKey {
  return { tenantId, executionId };
}
