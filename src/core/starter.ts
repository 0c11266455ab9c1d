import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { StartExecutionRequest } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { type Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ConflictPolicy } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { supports } from "./capability.js";
import { checkJson } from "./check-json.js";
import type { EventChunk } from "./chunk.js";
import { encodeChunk } from "./chunk.js";
import type { Clock } from "./clock.js";
import { conversationRow, mustBeEquivalent } from "./commands.js";
import { count } from "./count.js";
import { record } from "./decision.js";
import { startDigest } from "./digest.js";
import { draining } from "./draining.js";
import { HarnessError, notFound } from "./errors.js";
import { emptyFold, encodeRow, type Fold, toExecution } from "./fold.js";
import type { Ids } from "./ids.js";
import { isTerminal } from "./lifecycle.js";
import type { LiveExecution } from "./live-execution.js";
import type { LiveSet } from "./live-set.js";
import { mustPositive, preflight } from "./preflight.js";
import type { Provider } from "./provider.js";
import type { Registry } from "./registry.js";
import type { Caller, RuntimeLimits } from "./runtime.js";
import { startedExecution, startRecord } from "./start-record.js";
import { type IdempotencyRecord, IdempotencyTakenError, type Store } from "./store.js";

/** What starting works with. */
export interface StarterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly registry: Registry;
  readonly live: LiveSet;
  readonly limits: RuntimeLimits;
  readonly isDraining: () => boolean;
  readonly getExecution: (caller: Caller, executionId: string) => Promise<Execution>;
  /** Takes the new execution up. */
  readonly onStarted: (key: LiveExecution["key"], fold: Fold, chunk: EventChunk) => void;
}

/** Starts executions: idempotency, preflight, then one write. */
export class Starter {
  readonly #options: StarterOptions;
  /** How many executions that are not over a conversation of a provider that keeps conversations has. */
  readonly #open = new Map<string, number>();
  /** The keyed starts that are under way: their equivalents wait for them. */
  readonly #keyed = new Map<string, Promise<unknown>>();
  /** How many starts of a tenant are being stored. */
  readonly #storing = new Map<string, number>();

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  async start(caller: Caller, request: StartExecutionRequest, executionId?: string): Promise<Execution> {
    const scope = scopeOf(request);
    if (scope === undefined) return await this.#start(caller, request, executionId);
    const key = `${caller.tenantId}/${scope}`;
    for (let other = this.#keyed.get(key); other !== undefined; other = this.#keyed.get(key)) await other;
    const started = this.#start(caller, request, executionId);
    const settled = started.then(
      () => this.#keyed.delete(key),
      () => this.#keyed.delete(key),
    );
    this.#keyed.set(key, settled);
    return await started;
  }

  async #start(caller: Caller, request: StartExecutionRequest, executionId?: string): Promise<Execution> {
    const { store } = this.#options;
    if (request.config !== undefined) checkJson(request.config, "config");
    const digest = startDigest(request);
    const scope = scopeOf(request);
    const first = scope === undefined ? undefined : await store.findIdempotent(caller.tenantId, scope);
    if (first !== undefined) return await this.#repeated(caller, first, digest);
    const provider = await this.#check(caller, request);
    const rootExecutionId = await this.#checkParent(caller, request, provider);
    try {
      return await this.#create(caller, request, { provider, rootExecutionId, digest, scope, executionId });
    } catch (error) {
      if (error instanceof IdempotencyTakenError) return await this.#repeated(caller, error.existing, digest);
      throw error;
    }
  }

  /** Counts an execution that is not over into its conversation. */
  opened(execution: Execution): void {
    this.#count(execution, 1);
  }

  /** Counts an execution that is over out of its conversation. */
  ended(execution: Execution): void {
    this.#count(execution, -1);
  }

  #count({ tenantId, conversationId }: Execution, change: number): void {
    count(this.#open, `${tenantId}/${conversationId}`, change);
  }

  async #repeated(caller: Caller, first: IdempotencyRecord, digest: string): Promise<Execution> {
    mustBeEquivalent(first, digest);
    return await this.#options.getExecution(caller, first.resourceId);
  }

  async #check(caller: Caller, request: StartExecutionRequest): Promise<Provider> {
    const { store, registry, isDraining } = this.#options;
    if (isDraining()) throw draining();
    checkDurations(request);
    if (request.conversationId !== "") {
      const conversation = await store.getConversation(caller.tenantId, request.conversationId);
      if (conversation === undefined) throw notFound("conversation", request.conversationId);
    }
    preflight(request, registry.get(request.providerId));
    return registry.getAvailable(request.providerId);
  }

  /** Returns the root of a child; empty for an execution without a parent. */
  async #checkParent(caller: Caller, request: StartExecutionRequest, provider: Provider): Promise<string> {
    if (request.parentExecutionId === "") return "";
    const { getExecution } = this.#options;
    const parent = await getExecution(caller, request.parentExecutionId);
    if (parent.state === ExecutionState.CANCELLING || isTerminal(parent.state)) {
      const state = ExecutionState[parent.state] ?? "";
      throw new HarnessError(
        ErrorReason.INVALID_STATE,
        `the parent execution ${parent.id} is ${state} and starts no more children`,
        { state },
      );
    }
    if (request.conversationId !== "" && supports(provider.manifest, "conversation.continuity")) {
      await this.#checkAncestors(caller, request.conversationId, parent);
    }
    return parent.rootExecutionId;
  }

  /** A child that waited for its ancestor's conversation would wait for ever. */
  async #checkAncestors(caller: Caller, conversationId: string, parent: Execution): Promise<void> {
    const { getExecution } = this.#options;
    let ancestor: Execution | undefined = parent;
    while (ancestor !== undefined) {
      if (ancestor.conversationId === conversationId && !isTerminal(ancestor.state)) throw conflict(conversationId);
      const above: string = ancestor.parentExecutionId;
      ancestor = above === "" ? undefined : await getExecution(caller, above);
    }
  }

  async #create(
    caller: Caller,
    request: StartExecutionRequest,
    { provider, rootExecutionId, digest, scope, executionId: named }: Checked,
  ): Promise<Execution> {
    const { store, clock, ids } = this.#options;
    const nowMs = clock.now();
    const executionId = named ?? ids.next("execution");
    const isNew = request.conversationId === "";
    const conversationId = isNew ? ids.next("conversation") : request.conversationId;
    const root = rootExecutionId || executionId;
    const { manifest } = provider;
    const execution = startedExecution({
      executionId,
      conversationId,
      rootExecutionId: root,
      caller,
      manifest,
      request,
      nowMs,
    });
    provider.checkStart?.(execution);
    const queued = { providerId: manifest.id, requestDigest: digest };
    const { fold, events } = record(emptyFold(execution), [{ case: "runQueued", value: queued }], nowMs);
    const key = { tenantId: caller.tenantId, executionId };
    const chunk = encodeChunk(events);
    const release = this.#reserve(execution, request, provider);
    count(this.#storing, caller.tenantId, 1);
    try {
      await store.append({
        key,
        expected: 0,
        create: startRecord(execution, nowMs, isNew ? conversationRow(conversationId, caller, nowMs) : undefined),
        chunk,
        row: encodeRow(fold),
        lastSequence: fold.lastSequence,
        updateTimeMs: fold.updateTimeMs,
        ...(scope === undefined ? {} : { idempotency: { scope, digest, resourceId: executionId } }),
      });
    } catch (error) {
      release();
      throw error;
    } finally {
      count(this.#storing, caller.tenantId, -1);
    }
    this.#options.onStarted(key, fold, chunk);
    return toExecution(fold);
  }

  /** Takes a place in the conversation; fails with CONVERSATION_CONFLICT where it is taken and the caller will not wait. */
  #reserve(execution: Execution, { onConflict }: StartExecutionRequest, { manifest }: Provider): () => void {
    const keeps = supports(manifest, "conversation.continuity");
    const taken = this.#open.has(`${execution.tenantId}/${execution.conversationId}`);
    if (keeps && taken && onConflict === ConflictPolicy.REFUSE) throw conflict(execution.conversationId);
    this.#checkQuota(execution.tenantId);
    this.opened(execution);
    return () => this.ended(execution);
  }

  #checkQuota(tenantId: string): void {
    const { live, limits } = this.#options;
    const open = live.countOf(tenantId) + (this.#storing.get(tenantId) ?? 0);
    if (open < limits.maxOpenExecutions) return;
    throw new HarnessError(
      ErrorReason.QUOTA_EXCEEDED,
      `the tenant has ${limits.maxOpenExecutions} executions that are not over; wait until some end, or cancel some`,
      { max_open_executions: String(limits.maxOpenExecutions) },
    );
  }
}

interface Checked {
  readonly provider: Provider;
  readonly rootExecutionId: string;
  readonly digest: string;
  readonly scope: string | undefined;
  readonly executionId: string | undefined;
}

function conflict(conversationId: string): HarnessError {
  return new HarnessError(
    ErrorReason.CONVERSATION_CONFLICT,
    `an execution of conversation ${conversationId} is not over; wait for it, or start in another conversation`,
    { conversation_id: conversationId },
  );
}

function scopeOf({ conversationId, idempotencyKey }: StartExecutionRequest): string | undefined {
  return idempotencyKey === undefined ? undefined : JSON.stringify(["start", conversationId, idempotencyKey]);
}

function checkDurations({ actionPolicy, orphanPolicy }: StartExecutionRequest): void {
  if (actionPolicy?.timeout !== undefined) mustPositive("action_policy.timeout", actionPolicy.timeout);
  if (orphanPolicy?.cancelAfter !== undefined) mustPositive("orphan_policy.cancel_after", orphanPolicy.cancelAfter);
}
