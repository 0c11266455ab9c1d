import { join } from "node:path";
import { type Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { EventChunk } from "./chunk.js";
import type { Clock } from "./clock.js";
import { Family } from "./family.js";
import { ChangeHub } from "./feed.js";
import { decodeFold, type Fold, isCancelling } from "./fold.js";
import type { Ids } from "./ids.js";
import { Launcher } from "./launcher.js";
import { isTerminal } from "./lifecycle.js";
import { LiveExecution } from "./live-execution.js";
import { LiveSet } from "./live-set.js";
import type { Log, Provider } from "./provider.js";
import { Recoveries } from "./recoveries.js";
import { isParked } from "./recovery.js";
import { Registry } from "./registry.js";
import type { Caller, RetentionRule, Runtime, RuntimeLimits } from "./runtime.js";
import { Scheduler } from "./scheduler.js";
import { Starter } from "./starter.js";
import type { ExecutionKey, Store, StoredExecution } from "./store.js";
import { Timers } from "./timers.js";

/** What a runtime on one node is made of, complete. */
export interface SupervisorOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly node: string;
  readonly log: Log;
  readonly dataDir: string;
  /** Whether what is stored and what is in `dataDir` outlive this process. */
  readonly durable: boolean;
  readonly recordValue: boolean;
  readonly limits: RuntimeLimits;
  readonly retention: readonly RetentionRule[];
  readonly getExecution: (caller: Caller, executionId: string) => Promise<Execution>;
  /** What providers are given to reach. */
  readonly runtime: Runtime;
}

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
  readonly #timers: Timers;
  readonly #recoveries: Recoveries;
  readonly #family: Family;
  #stopTrimming: (() => void) | undefined;
  #draining = false;
  /** Set while somebody waits for what runs to settle. */
  #onSettled: (() => void) | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.hub = new ChangeHub(options.clock);
    this.#timers = new Timers(options.clock);
    this.#launcher = new Launcher(options);
    this.#scheduler = new Scheduler(this.registry, (live, provider) =>
      this.#recoveries.launch(live, provider, "fresh"),
    );
    this.#recoveries = new Recoveries({
      registry: this.registry,
      scheduler: this.#scheduler,
      launcher: this.#launcher,
      timers: this.#timers,
      log: options.log,
      graceMs: options.limits.remoteGraceMs,
      isDraining: () => this.#draining,
    });
    this.#family = new Family({ ...options, live: this.live, timers: this.#timers });
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
    for (const live of taken) await this.#family.cancelOrphaned(live);
    this.#recoveries.takeUp(taken);
    this.#armTrimming();
  }

  /** Adds a provider, opens it, and takes up what waits for it. */
  async addProvider(provider: Provider): Promise<void> {
    await this.#openProvider(provider);
    this.#recoveries.providerAdded(provider.manifest.id);
    this.#scheduler.pump(provider.manifest.id);
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
    this.#timers.close();
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
    const { log, dataDir, durable, runtime } = this.#options;
    const { id } = provider.manifest;
    this.registry.add(provider);
    await provider.open?.({
      runtime,
      changed: () => this.#scheduler.pump(id),
      log,
      dataDir: join(dataDir, "providers", id.replaceAll(/[^A-Za-z0-9._-]/g, "_")),
      durable,
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
    this.#family.join(live);
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

  #onCommit(live: LiveExecution, changed: boolean): void {
    this.hub.changed(live, changed);
    if (!changed) return;
    const { committed } = live.writer;
    if (isCancelling(committed) || committed.execution.state === ExecutionState.CANCELLED) this.#family.cascade(live);
    if (isTerminal(committed.execution.state)) this.#forget(live);
    if (this.#onSettled !== undefined && this.#isSettled()) this.#onSettled();
  }

  #forget(live: LiveExecution): void {
    const { execution } = live.writer.committed;
    this.live.remove(live);
    this.#scheduler.remove(live);
    this.#recoveries.forget(live);
    this.starter.ended(execution);
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
