import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Clock } from "./clock.js";
import { nothing } from "./decision.js";
import { decodeFold } from "./fold.js";
import type { Ids } from "./ids.js";
import { isTerminal } from "./lifecycle.js";
import type { LiveExecution } from "./live-execution.js";
import type { HistoryItem, Log, Provider } from "./provider.js";
import { Runner, type RunnerEnd } from "./runner.js";
import type { RunnerOptions } from "./runner-options.js";
import type { Store } from "./store.js";

/** What launching works with. */
export interface LauncherOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly node: string;
  readonly log: Log;
  readonly dataDir: string;
}

/** How long a node owns an execution before it must renew, in milliseconds. */
const LEASE_MS = 30_000;
const HISTORY_LIMIT = 100;

/** Takes executions into work: ownership, a runner, and what it leaves behind. */
export class Launcher {
  readonly #options: LauncherOptions;
  readonly #running = new Set<Runner>();
  readonly #launches = new Set<Promise<void>>();
  #closing = false;

  constructor(options: LauncherOptions) {
    this.#options = options;
  }

  /** Runs an execution until it is over or let go. Rejects where the store cannot be used. */
  async launch(live: LiveExecution, provider: Provider, entry: RunnerOptions["entry"]): Promise<void> {
    const launch = this.#launch(live, provider, entry);
    this.#launches.add(launch);
    try {
      await launch;
    } finally {
      this.#launches.delete(launch);
    }
  }

  async #launch(live: LiveExecution, provider: Provider, entry: RunnerOptions["entry"]): Promise<void> {
    const { store, clock, node, log } = this.#options;
    const leaseUntilMs = store.shared ? clock.now() + LEASE_MS : Number.MAX_SAFE_INTEGER;
    const fence = await store.claim(live.key, node, clock.now(), leaseUntilMs);
    if (fence === undefined) return;
    await flushed(live);
    if (this.#closing || isTerminal(live.writer.committed.execution.state)) {
      await this.#giveBack(live, fence);
      return;
    }
    const stopRenewing = store.shared ? this.#renew(live, fence) : undefined;
    const runner = new Runner({
      ...this.#options,
      key: live.key,
      writer: live.writer,
      provider,
      fence,
      history: () => this.#history(live),
      scratchDir: () => this.#scratchDir(live),
      entry,
    });
    live.own(runner);
    this.#running.add(runner);
    const end = await runner.ended;
    this.#running.delete(runner);
    live.own(undefined);
    stopRenewing?.();
    await rm(this.#scratchPath(live), { recursive: true, force: true }).catch((error: unknown) => {
      log.warn({ executionId: live.key.executionId, error }, "a scratch folder was not removed");
    });
    await this.#release(live, fence, end);
  }

  /** How many executions run here. */
  get count(): number {
    return this.#running.size;
  }

  /** Lets go of all that run, gives them back, and takes nothing more. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#running].map((runner) => runner.abandon()));
    await Promise.allSettled(this.#launches);
  }

  /**
   * Gives an execution back; one that the runtime failed to run is ended with an
   * event first, and where that fails too this rejects.
   */
  async #release(live: LiveExecution, fence: number, end: RunnerEnd): Promise<void> {
    if (end === "broken" && !this.#closing) {
      const message = "the runtime could not run the execution; the server's log has the cause";
      await live.end({ reason: FailureReason.PROVIDER_ERROR, message }, { error: "" });
    }
    await this.#giveBack(live, fence);
  }

  async #giveBack(live: LiveExecution, fence: number): Promise<void> {
    const { store, log } = this.#options;
    await store.release(live.key, fence).catch((error: unknown) => {
      log.warn({ executionId: live.key.executionId, error }, "an execution was not given back");
    });
  }

  #renew(live: LiveExecution, fence: number): () => void {
    const { store, clock, log } = this.#options;
    let stop: () => void;
    const arm = (): void => {
      stop = clock.after(LEASE_MS / 3, () => {
        store.renew(live.key, fence, clock.now() + LEASE_MS).catch((error: unknown) => {
          log.warn({ executionId: live.key.executionId, error }, "a lease was not renewed");
        });
        arm();
      });
    };
    arm();
    return () => stop();
  }

  #scratchPath(live: LiveExecution): string {
    return join(this.#options.dataDir, "scratch", live.key.executionId);
  }

  async #scratchDir(live: LiveExecution): Promise<string> {
    const path = this.#scratchPath(live);
    await mkdir(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** Each earlier execution of the conversation that succeeded, as what was asked and what came out. */
  async #history(live: LiveExecution): Promise<readonly HistoryItem[]> {
    const { store } = this.#options;
    const { conversationId } = live.writer.committed.execution;
    const page = await store.listExecutions({
      tenantId: live.key.tenantId,
      conversationId,
      states: [ExecutionState.SUCCEEDED],
      pageSize: HISTORY_LIMIT,
      pageToken: "",
    });
    return page.items.toReversed().flatMap((stored): HistoryItem[] => {
      const { execution } = decodeFold(stored);
      const { executionId } = stored.key;
      return [
        { executionId, role: "user", content: execution.input ?? create(ContentSchema) },
        { executionId, role: "assistant", content: create(ContentSchema, { text: execution.finalOutput ?? "" }) },
      ];
    });
  }
}

/** Waits until what was decided so far is stored or refused: an execution may just have been cancelled, or not. */
async function flushed({ writer }: LiveExecution): Promise<void> {
  await writer.decide((fold) => nothing(fold, undefined)).catch(() => undefined);
}
