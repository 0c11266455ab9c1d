import { join } from "node:path";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { EventChunk } from "./chunk.js";
import type { Clock } from "./clock.js";
import { ChangeHub } from "./feed.js";
import { decodeFold, type Fold, isCancelling } from "./fold.js";
import type { Ids } from "./ids.js";
import { Launcher } from "./launcher.js";
import { isTerminal } from "./lifecycle.js";
import { LiveExecution } from "./live-execution.js";
import { LiveSet } from "./live-set.js";
import type { Log, Provider } from "./provider.js";
import { isParked, recover } from "./recovery.js";
import { Registry } from "./registry.js";
import type { Caller, RetentionRule, Runtime, RuntimeLimits } from "./runtime.js";
import { Scheduler } from "./scheduler.js";
import { Starter } from "./starter.js";
import type { ExecutionKey, Store, StoredExecution } from "./store.js";

/** What a runtime on one node is made of, complete. */
export interface SupervisorOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly node: string;
  readonly log: Log;
  readonly dataDir: string;
  readonly recordValue: boolean;
  readonly limits: RuntimeLimits;
  readonly retention: readonly RetentionRule[];
  readonly getExecution: (caller: Caller, executionId: string) => Promise<Execution>;
  /** What providers are given to reach. */
  readonly runtime: Runtime;
}

const RETRY_MS = 1000;
const TRIM_INTERVAL_MS = 60_000;

/** Keeps the executions that are not over going: takes them up, queues, runs, cascades, and lets go of them. */
export class Supervisor {
  readonly registry = new Registry();
  readonly live = new LiveSet();
  readonly hub: ChangeHub;
  readonly starter: Starter;
  readonly #options: SupervisorOptions;
  readonly #launcher: Launcher;
  readonly #scheduler: Scheduler;
  /** Unfinished executions of providers that are not there yet. */
  readonly #waiting = new Map<string, Set<LiveExecution>>();
  readonly #cascaded = new WeakSet<LiveExecution>();
  #stopTrimming: (() => void) | undefined;
  readonly #timers = new Set<() => void>();
  #draining = false;
  #closing = false;
  /** Set while somebody waits for what runs to settle. */
  #onSettled: (() => void) | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.hub = new ChangeHub(options.clock);
    this.#launcher = new Launcher(options);
    this.#scheduler = new Scheduler(this.registry, (live, provider) => this.#launch(live, provider, "fresh"));
    this.starter = new Starter({
      ...options,
      registry: this.registry,
      live: this.live,
      isDraining: () => this.#draining,
      onStarted: (key, fold, chunk) => this.#started(this.#hold(key, fold, chunk)),
    });
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** How many executions of a provider run now. */
  activeOf(providerId: string): number {
    return this.#scheduler.activeOf(providerId);
  }

  /** Opens the providers, then takes up what is unfinished. */
  async open(providers: readonly Provider[]): Promise<void> {
    for (const provider of providers) await this.#openProvider(provider);
    const unfinished = await this.#options.store.listUnfinished();
    const taken: LiveExecution[] = [];
    for (const stored of unfinished) {
      const live = await this.#takeUp(stored);
      if (live !== undefined) taken.push(live);
    }
    for (const live of taken) await this.#cancelOrphaned(live);
    // What ran keeps its conversation and its provider's room before anything that waited may take them.
    for (const live of taken) if (hasRun(live)) this.#scheduler.occupy(live);
    for (const live of taken) this.#recover(live);
    this.#armTrimming();
  }

  /** Adds a provider, opens it, and takes up what waits for it. */
  async addProvider(provider: Provider): Promise<void> {
    await this.#openProvider(provider);
    const { id } = provider.manifest;
    const waiting = this.#waiting.get(id) ?? [];
    this.#waiting.delete(id);
    for (const live of waiting) this.#recover(live);
    this.#scheduler.pump(id);
  }

  /** Takes no new work any more. */
  drain(): void {
    this.#draining = true;
    this.#scheduler.pause();
  }

  /** Waits up to `graceMs` for what runs and is not parked, lets go of the rest, and closes the providers. */
  async close(graceMs: number): Promise<void> {
    this.drain();
    this.#stopTrimming?.();
    await this.#settle(graceMs);
    this.#closing = true;
    for (const disarm of this.#timers) disarm();
    this.#timers.clear();
    await this.#launcher.close();
    for (const live of this.live.all()) live.close();
    for (const provider of this.registry.all()) await this.#closeProvider(provider);
  }

  async #settle(graceMs: number): Promise<void> {
    if (this.#isSettled() || graceMs <= 0) return;
    await new Promise<void>((resolve) => {
      const disarm = this.#options.clock.after(graceMs, resolve);
      this.#onSettled = () => {
        disarm();
        resolve();
      };
    });
  }

  /** Whether nothing runs here but what waits for an answer that may also come after the next start. */
  #isSettled(): boolean {
    return this.live.all().every(({ runner, writer }) => {
      const { execution } = writer.committed;
      const provider = this.registry.find(execution.providerId);
      return runner === undefined || (provider !== undefined && isParked(execution, provider));
    });
  }

  async #openProvider(provider: Provider): Promise<void> {
    const { log, dataDir, runtime } = this.#options;
    const { id } = provider.manifest;
    this.registry.add(provider);
    await provider.open?.({
      runtime,
      changed: () => this.#scheduler.pump(id),
      log,
      dataDir: join(dataDir, "providers", id.replaceAll(/[^A-Za-z0-9._-]/g, "_")),
    });
  }

  async #closeProvider(provider: Provider): Promise<void> {
    try {
      await provider.close?.();
    } catch (error) {
      this.#options.log.warn({ providerId: provider.manifest.id, error }, "a provider did not close");
    }
  }

  /** Holds an execution that is not over: from now on its commits are seen here. */
  #hold(key: ExecutionKey, fold: Fold, chunk?: EventChunk): LiveExecution {
    const { store, clock, log, limits } = this.#options;
    const onCommit = (live: LiveExecution, changed: boolean): void => this.#onCommit(live, changed);
    const live = new LiveExecution({ store, clock, log, tailBytes: limits.tailBytes, onCommit }, key, fold, chunk);
    this.live.add(live);
    this.hub.changed(live, true);
    return live;
  }

  #started(live: LiveExecution): void {
    this.#scheduler.enqueue(live);
    this.#joinParent(live);
  }

  /** A parent may have been cancelled while its child was being stored: the cascade did not see the child then. */
  #joinParent(live: LiveExecution): void {
    if (live.writer.committed.execution.parentExecutionId === "") return;
    this.#cancelOrphaned(live).catch((error: unknown) => {
      this.#options.log.error({ executionId: live.key.executionId, error }, "a parent was not read; trying again");
      this.#later(RETRY_MS, () => this.#joinParent(live));
    });
  }

  /** One execution that cannot be read is left alone, and said: it must not keep the others from going on. */
  async #takeUp(stored: StoredExecution): Promise<LiveExecution | undefined> {
    const rows = stored.state === ExecutionState.QUEUED ? undefined : await this.#options.store.getSideRows(stored.key);
    let fold: Fold;
    try {
      fold = decodeFold(stored, rows?.artifactIds);
    } catch (error) {
      this.#options.log.error({ executionId: stored.key.executionId, error }, "a stored execution cannot be read");
      return undefined;
    }
    const live = this.#hold(stored.key, fold);
    this.starter.opened(live.writer.committed.execution);
    return live;
  }

  /** A parent's cancellation that did not reach one of its children goes on to it. */
  async #cancelOrphaned(live: LiveExecution): Promise<void> {
    const { parentExecutionId } = live.writer.committed.execution;
    if (parentExecutionId === "") return;
    const parent = this.live.find(live.key.tenantId, parentExecutionId)?.writer.committed.execution;
    const stored = parent ?? (await this.#options.store.getExecution({ ...live.key, executionId: parentExecutionId }));
    const cancelled = stored?.state === ExecutionState.CANCELLED || stored?.state === ExecutionState.CANCELLING;
    if (cancelled) await live.cancel(parentReason(parentExecutionId), undefined);
  }

  #recover(live: LiveExecution): void {
    this.#recovering(live).catch((error: unknown) => {
      if (this.#closing) return;
      this.#options.log.error(
        { executionId: live.key.executionId, error },
        "an execution was not recovered; trying again",
      );
      this.#later(RETRY_MS, () => this.#recover(live));
    });
  }

  /** Calls `run` after `delayMs`, unless the runtime closes first; the returned function cancels it. */
  #later(delayMs: number, run: () => void): () => void {
    if (this.#closing) return () => undefined;
    const disarm = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(disarm);
      run();
    });
    this.#timers.add(disarm);
    return () => {
      this.#timers.delete(disarm);
      disarm();
    };
  }

  async #recovering(live: LiveExecution): Promise<void> {
    const { clock, limits } = this.#options;
    const until: Clock = { now: () => clock.now(), after: (delayMs, run) => this.#later(delayMs, run) };
    const { providerId, state } = live.writer.committed.execution;
    if (isTerminal(state)) return;
    if (state === ExecutionState.QUEUED) {
      this.#scheduler.enqueue(live);
      return;
    }
    this.#scheduler.occupy(live);
    const provider = this.registry.find(providerId);
    if (provider === undefined) {
      this.#await(live, providerId);
      return;
    }
    const recovered = await recover(live, provider, until, limits.remoteGraceMs);
    // The next start takes it up again.
    if (this.#closing) return;
    if (recovered.kind === "queue") this.#scheduler.enqueue(live);
    else if (recovered.kind === "end") await live.end(recovered.failure, recovered.cleanup);
    else void this.#scheduler.run(live, provider, () => this.#launch(live, provider, recovered.entry));
  }

  /** A provider that dials in has the grace to come back; then its executions are lost. */
  #await(live: LiveExecution, providerId: string): void {
    const waiting = this.#waiting.get(providerId) ?? new Set();
    this.#waiting.set(providerId, waiting.add(live));
    this.#later(this.#options.limits.remoteGraceMs, () => {
      if (!this.#waiting.get(providerId)?.delete(live) || this.#draining) return;
      const message = `provider ${providerId} is not there after the runtime restarted`;
      live.end({ reason: FailureReason.PROVIDER_LOST, message }, { error: "" }).catch(() => this.#recover(live));
    });
  }

  async #launch(live: LiveExecution, provider: Provider, entry: "fresh" | "resume" | "reattach"): Promise<boolean> {
    try {
      await this.#launcher.launch(live, provider, entry);
      return false;
    } catch (error) {
      const { log } = this.#options;
      log.error({ executionId: live.key.executionId, error }, "an execution was not taken into work; trying again");
      if (!this.#draining) this.#later(RETRY_MS, () => this.#recover(live));
      return true;
    }
  }

  #onCommit(live: LiveExecution, changed: boolean): void {
    this.hub.changed(live, changed);
    if (!changed) return;
    const { committed } = live.writer;
    if (isCancelling(committed) || committed.execution.state === ExecutionState.CANCELLED) this.#cascade(live);
    if (isTerminal(committed.execution.state)) this.#forget(live);
    if (this.#onSettled !== undefined && this.#isSettled()) this.#onSettled();
  }

  #forget(live: LiveExecution): void {
    const { execution } = live.writer.committed;
    this.live.remove(live);
    this.#scheduler.remove(live);
    this.#waiting.get(execution.providerId)?.delete(live);
    this.starter.ended(execution);
  }

  /** Cancelling a parent cancels its children, once. */
  #cascade(live: LiveExecution): void {
    if (this.#cascaded.has(live)) return;
    this.#cascaded.add(live);
    for (const child of this.live.childrenOf(live.key.executionId)) this.#cancelChild(child, live.key.executionId);
  }

  #cancelChild(child: LiveExecution, parentExecutionId: string): void {
    child.cancel(parentReason(parentExecutionId), undefined).catch((error: unknown) => {
      this.#options.log.error({ executionId: child.key.executionId, error }, "a child was not cancelled; trying again");
      this.#later(RETRY_MS, () => this.#cancelChild(child, parentExecutionId));
    });
  }

  #armTrimming(): void {
    const { clock, retention } = this.#options;
    if (retention.length === 0) return;
    this.#stopTrimming = clock.after(TRIM_INTERVAL_MS, () => {
      this.#trim()
        .catch((error: unknown) => this.#options.log.warn({ error }, "old events were not dropped"))
        .finally(() => (this.#draining ? undefined : this.#armTrimming()));
    });
  }

  async #trim(): Promise<void> {
    const { store, clock, retention } = this.#options;
    for (const { keepMs, labels } of retention) await store.trim(clock.now() - keepMs, labels);
  }
}

/** Whether an execution was taken into work before. */
function hasRun({ writer }: LiveExecution): boolean {
  const { state } = writer.committed.execution;
  return state !== ExecutionState.QUEUED && !isTerminal(state);
}

function parentReason(parentExecutionId: string): string {
  return `the parent execution ${parentExecutionId} was cancelled`;
}
