import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Launcher } from "./launcher.js";
import { isTerminal } from "./lifecycle.js";
import type { LiveExecution } from "./live-execution.js";
import type { Log, Provider } from "./provider.js";
import { recover } from "./recovery.js";
import type { Registry } from "./registry.js";
import type { RunnerOptions } from "./runner-options.js";
import type { Scheduler } from "./scheduler.js";
import type { Timers } from "./timers.js";

/** What taking executions up again works with. */
export interface RecoveriesOptions {
  readonly registry: Registry;
  readonly scheduler: Scheduler;
  readonly launcher: Launcher;
  readonly timers: Timers;
  readonly log: Log;
  /** How long a provider that is not there has to come back, in milliseconds. */
  readonly graceMs: number;
  readonly isDraining: () => boolean;
}

const RETRY_MS = 1000;

/** Takes executions that are not over into work, and again where that fails: none is left behind. */
export class Recoveries {
  readonly #options: RecoveriesOptions;
  /** Unfinished executions of providers that are not there yet. */
  readonly #waiting = new Map<string, Set<LiveExecution>>();

  constructor(options: RecoveriesOptions) {
    this.#options = options;
  }

  /** Takes up what an earlier runtime left, oldest first. */
  takeUp(taken: readonly LiveExecution[]): void {
    // What ran keeps its conversation and its provider's room before anything that waited may take them.
    for (const live of taken) if (hasRun(live)) this.#options.scheduler.occupy(live);
    for (const live of taken) this.#recover(live);
  }

  /** A provider is there now: takes up what waits for it. */
  providerAdded(providerId: string): void {
    const waiting = this.#waiting.get(providerId) ?? [];
    this.#waiting.delete(providerId);
    for (const live of waiting) this.#recover(live);
  }

  /** Forgets an execution that is over. */
  forget(live: LiveExecution): void {
    const { providerId } = live.writer.committed.execution;
    const waiting = this.#waiting.get(providerId);
    waiting?.delete(live);
    if (waiting?.size === 0) this.#waiting.delete(providerId);
  }

  /** Runs an execution until it is over or let go; resolves with true where it could not be taken and is tried again. */
  async launch(live: LiveExecution, provider: Provider, entry: RunnerOptions["entry"]): Promise<boolean> {
    const { launcher, log, timers, isDraining } = this.#options;
    try {
      await launcher.launch(live, provider, entry);
      return false;
    } catch (error) {
      log.error({ executionId: live.key.executionId, error }, "an execution was not taken into work; trying again");
      if (!isDraining()) timers.after(RETRY_MS, () => this.#recover(live));
      return true;
    }
  }

  #recover(live: LiveExecution): void {
    this.#recovering(live).catch((error: unknown) => {
      const { log, timers } = this.#options;
      if (timers.isClosed) return;
      log.error({ executionId: live.key.executionId, error }, "an execution was not recovered; trying again");
      timers.after(RETRY_MS, () => this.#recover(live));
    });
  }

  async #recovering(live: LiveExecution): Promise<void> {
    const { registry, scheduler, timers, graceMs } = this.#options;
    const { providerId, state } = live.writer.committed.execution;
    if (isTerminal(state)) return;
    if (state === ExecutionState.QUEUED) {
      scheduler.enqueue(live);
      return;
    }
    scheduler.occupy(live);
    const provider = registry.find(providerId);
    if (provider === undefined) {
      this.#await(live, providerId);
      return;
    }
    const recovered = await recover(live, provider, timers, graceMs);
    // The next start takes it up again.
    if (timers.isClosed) return;
    if (recovered.kind === "queue") scheduler.enqueue(live);
    else if (recovered.kind === "end") await live.end(recovered.failure, recovered.cleanup);
    else void scheduler.run(live, provider, () => this.launch(live, provider, recovered.entry));
  }

  /** A provider that dials in has the grace to come back; then its executions are lost. */
  #await(live: LiveExecution, providerId: string): void {
    const { timers, graceMs, isDraining } = this.#options;
    const waiting = this.#waiting.get(providerId) ?? new Set();
    this.#waiting.set(providerId, waiting.add(live));
    timers.after(graceMs, () => {
      if (!this.#waiting.get(providerId)?.delete(live) || isDraining()) return;
      const message = `provider ${providerId} is not there after the runtime restarted`;
      live.end({ reason: FailureReason.PROVIDER_LOST, message }, { error: "" }).catch(() => this.#recover(live));
    });
  }
}

/** Whether an execution was taken into work before. */
function hasRun({ writer }: LiveExecution): boolean {
  const { state } = writer.committed.execution;
  return state !== ExecutionState.QUEUED && !isTerminal(state);
}
