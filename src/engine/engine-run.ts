import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { MAX_WAITING_ACTIONS } from "../core/limits.js";
import type { TurnOutcome } from "../core/provider.js";
import { type BoundAbilities, bindAbilities } from "./ability.js";
import { prepareRun } from "./ask-controller.js";
import { attempt, type Bound, startBound } from "./bound.js";
import { BudgetLedger, type UsedBefore } from "./budgets.js";
import type { EngineConfig } from "./config.js";
import type { StepOverrides } from "./controller.js";
import type { EngineHost } from "./engine-host.js";
import { RunFailure } from "./errors.js";
import { CanonicalHistory } from "./history.js";
import type { ChatMessage, MessageContent, TokenUsage } from "./message.js";
import { ResourceSet } from "./resource.js";
import { createRunContext, type RunContext } from "./run-context.js";
import type { RunIdentity } from "./run-identity.js";
import { RunWork } from "./run-work.js";
import { EMPTY_SESSION, type SessionLease, type SessionSnapshot } from "./session-store.js";
import { Slots } from "./slots.js";
import { Spans } from "./spans.js";
import type { ToolDef } from "./tool.js";

/**
 * What one run holds from its first turn to its end: the session's lease, the
 * history, the budgets, the resources and the abilities.
 */
export class EngineRun {
  readonly host: EngineHost;
  readonly id: RunIdentity;
  readonly ledger: BudgetLedger;
  readonly spans: Spans;
  readonly resources = new ResourceSet();
  readonly work = new RunWork();
  /** Steers that were handed over and not taken yet; what a turn leaves, the next one gets. */
  readonly steers: MessageContent[] = [];
  /** The artifacts that this attempt announced, by their ids. */
  readonly announced = new Set<string>();
  /** What the current turn wrote, piece by piece; nothing where the driver is served. */
  readonly turnText: string[] = [];
  /** The session's own data, as this run has it. */
  state: Record<string, unknown> = {};
  /** What a controller said for the whole run. */
  runOverrides: StepOverrides | undefined;
  /** The index of the next step. */
  nextStep = 0;
  readonly #approvals = new Map<string, number>();
  /** As many approvals at a time as may wait in the log. */
  readonly approvalSlots = new Slots(MAX_WAITING_ACTIONS);
  /** The role whose model wrote the opaque parts of the history; unset where no call is known. */
  lastRole: string | undefined;
  /** The first thing that ends this run whatever its driver returns. */
  failure: RunFailure | undefined;
  #lease: SessionLease | undefined;
  /** The session as it was before this run. */
  #before: SessionSnapshot = EMPTY_SESSION;
  #wasRead = false;
  #history = new CanonicalHistory(EMPTY_SESSION);
  #conversations: Record<string, readonly ChatMessage[]> = {};
  #abilities: BoundAbilities | undefined;
  #opened: Promise<void> | undefined;
  #closing: Promise<readonly string[]> | undefined;
  /** The last turn was cut off: the next one takes back what it added to the history. */
  interrupted = false;
  /** How the last turn ended, for observers. */
  status: TurnOutcome["status"] = "succeeded";
  /** Aborted when the run ends: what is opened for it then is closed again. */
  readonly #over = new AbortController();
  readonly #abandoned = Promise.withResolvers<TurnOutcome>();

  /** `used` is what the attempts before this one used. */
  constructor(host: EngineHost, id: RunIdentity, used: UsedBefore) {
    this.host = host;
    this.id = id;
    this.ledger = new BudgetLedger(id.budgets, used);
    this.spans = new Spans(host.config, id);
  }

  get config(): EngineConfig {
    return this.host.config;
  }

  get history(): CanonicalHistory {
    return this.#history;
  }

  get abilities(): BoundAbilities | undefined {
    return this.#abilities;
  }

  /** Resolves when the run's end no longer waits for its driver. */
  get abandoned(): Promise<TurnOutcome> {
    return this.#abandoned.promise;
  }

  /** The granted tools, those of abilities included. */
  get tools(): readonly ToolDef[] {
    return (this.#abilities?.tools ?? []).filter(({ name }) => this.id.grants.toolIds.includes(name));
  }

  /** The tools and effects that the controller left to the whole run; unset: all that are granted. */
  get active(): ReadonlySet<string> | undefined {
    const active = this.runOverrides?.activeToolIds;
    return active === undefined ? undefined : new Set(active);
  }

  /** Returns a context of one turn. */
  context(signal: AbortSignal, services?: Parameters<typeof createRunContext>[0]["services"]): RunContext {
    const { runId, sessionId, identity, runMode, parentRunId, rootRunId } = this.id;
    return createRunContext({
      runId,
      sessionId,
      identity,
      runMode,
      signal,
      state: this.state,
      rootRunId,
      ...(parentRunId === undefined ? {} : { parentRunId }),
      ...(services === undefined ? {} : { services }),
    });
  }

  /** Takes the session and binds the abilities, once a run, whatever becomes of the turn that began it. Rejects with what stands in the way. */
  open(): Promise<void> {
    if (this.#opened === undefined) {
      this.#opened = this.#open(this.#over.signal);
      this.#opened.catch(() => {});
    }
    return this.#opened;
  }

  /** Remembers what ends this run; the first reason counts. */
  fail(failure: RunFailure): RunFailure {
    this.failure ??= failure;
    return failure;
  }

  /** Returns the key of the next approval of such a call in a turn: the same in every attempt that does the same. */
  approvalKey(turn: number, digest: string): string {
    const call = `${turn}-${digest}`;
    const nth = this.#approvals.get(call) ?? 0;
    this.#approvals.set(call, nth + 1);
    return `approval-${call}-${nth}`;
  }

  keepConversation(executionId: string, messages: readonly ChatMessage[]): void {
    this.#conversations[executionId] = structuredClone(messages);
  }

  /** Stores a turn that was accepted; the turns of one run are one revision of its session. */
  async commit(): Promise<void> {
    this.#over.signal.throwIfAborted();
    await this.#write({
      history: this.#history.copy(),
      conversations: this.#conversations,
      state: this.state,
      revision: this.#before.revision + 1,
      replayable: true,
      ...this.#roleOf(),
    });
  }

  /** Ends everything of the run and returns what went wrong; the first call counts. Unless `settled`, what there is of the history is kept. */
  close(settled: boolean): Promise<readonly string[]> {
    if (this.#closing === undefined) {
      this.#over.abort(new Error("the run is over"));
      this.#closing = this.#close(settled);
    }
    return this.#closing;
  }

  async #open(over: AbortSignal): Promise<void> {
    over.throwIfAborted();
    const { sessionId, identity, runId, onConflict } = this.id;
    const { config } = this;
    this.host.local(runId)?.entered();
    this.spans.runStart(config.driver.id);
    const lease = await config.sessions.acquire(identity, sessionId, { onConflict, signal: over });
    if (over.aborted) await lease.release();
    over.throwIfAborted();
    this.#lease = lease;
    const before = await lease.read();
    over.throwIfAborted();
    this.#before = before;
    this.#wasRead = true;
    this.#history = new CanonicalHistory(before);
    this.#conversations = { ...before.conversations };
    this.state = structuredClone(before.state) as Record<string, unknown>;
    this.lastRole = before.lastRole;
    const ctx = this.context(over);
    const abilities = await bindAbilities(config.abilities, config.tools, ctx);
    if (over.aborted) await abilities.dispose();
    over.throwIfAborted();
    this.#abilities = abilities;
    this.runOverrides = await prepareRun(this, ctx);
    over.throwIfAborted();
  }

  async #close(settled: boolean): Promise<readonly string[]> {
    const atWork = this.#bound();
    const diagnostics = [...(await attempt("the run's work goes on", () => atWork.within(this.#settle())))];
    atWork.stop();
    if (diagnostics.length > 0) this.#abandoned.resolve({ status: "cancelled" });
    const cleanup = this.#bound();
    diagnostics.push(...(await this.#dispose(settled, cleanup)));
    cleanup.stop();
    const release = this.#bound();
    const releasing = async (): Promise<void> => await release.within(this.#lease?.release());
    diagnostics.push(...(await attempt("the session was not released", releasing)));
    release.stop();
    return diagnostics;
  }

  /** Resolves when nothing of the run is under way. */
  async #settle(): Promise<void> {
    await this.#opened?.catch(() => {});
    await this.work.settle();
  }

  /** All of it is begun, though one part may use up the time for all. */
  async #dispose(settled: boolean, { within }: Bound): Promise<readonly string[]> {
    this.config.approvalManager?.cancelRun(this.id.runId);
    const partial = async (): Promise<void> => await within(this.#commitPartial());
    const diagnostics = settled ? [] : [...(await attempt("the partial history was not stored", partial))];
    diagnostics.push(...(await this.resources.dispose(within)));
    diagnostics.push(...((await this.#abilities?.dispose(within)) ?? []));
    return diagnostics;
  }

  #bound(): Bound {
    return startBound(this.config.clock, this.config.cleanupTimeoutMs);
  }

  #roleOf(): Pick<SessionSnapshot, "lastRole"> {
    return this.lastRole === undefined ? {} : { lastRole: this.lastRole };
  }

  /** Keeps what there is of the history; everything else stays as it was read. */
  async #commitPartial(): Promise<void> {
    if (!this.#wasRead) return;
    await this.#write({ ...this.#before, history: this.#history.copy(), replayable: false, ...this.#roleOf() });
  }

  async #write(snapshot: SessionSnapshot): Promise<void> {
    if (this.#lease === undefined || !this.#wasRead) {
      throw new RunFailure(FailureReason.PROVIDER_ERROR, "the session was not read, so it is not written");
    }
    const isDropped = this.config.dropsChildren && this.id.parentRunId !== undefined;
    if (!isDropped) await this.#lease.commit(snapshot);
  }

  /** What the run used, as the contract's events report it. */
  get usage(): TokenUsage {
    return this.ledger.usage;
  }
}
