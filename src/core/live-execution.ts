import { timestampMs } from "@bufbuild/protobuf/wkt";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ActionTimeoutPolicy } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { expireTimeMs } from "./action-desk.js";
import type { EventChunk } from "./chunk.js";
import type { Clock } from "./clock.js";
import { ClockCommands } from "./clock-commands.js";
import { decideExpire } from "./decide-action.js";
import { type Cleanup, decideCancel, decideEnd, type Failure } from "./decide-run.js";
import { nothing } from "./decision.js";
import { type Fold, isCancelling, openAction } from "./fold.js";
import { isTerminal } from "./lifecycle.js";
import { durationToMs } from "./preflight.js";
import type { Log } from "./provider.js";
import type { Runner } from "./runner.js";
import type { Caller } from "./runtime.js";
import type { ExecutionKey, Store } from "./store.js";
import { Tail } from "./tail.js";
import { Timers } from "./timers.js";
import { recollect } from "./turn-text.js";
import { Writer } from "./writer.js";

/** What a live execution works on, and whom it tells. */
export interface LiveOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly tailBytes: number;
  /** After each commit; `changed` where more than the head did. */
  readonly onCommit: (live: LiveExecution, changed: boolean) => void;
}

/**
 * An execution that is not over, as this process holds it: its writer, the tail
 * that its readers share, its clocks (deadline, open action, orphan grace) and,
 * while this process owns it, its runner.
 */
export class LiveExecution {
  readonly key: ExecutionKey;
  readonly writer: Writer;
  readonly tail: Tail;
  readonly #options: LiveOptions;
  readonly #over = Promise.withResolvers<void>();
  #runner: Runner | undefined;
  #seen: Fold;
  #watchers = 0;
  readonly #timers: Timers;
  #stopExpiry: (() => void) | undefined;
  #expiring = "";
  #stopOrphan: (() => void) | undefined;
  readonly #commands: ClockCommands;
  /** Why it fails, where that came up while nobody ran it. */
  #owed: Failure | undefined;

  /** `chunk` holds the events up to the fold's head, where they are at hand: readers then need no store for them. */
  constructor(options: LiveOptions, key: ExecutionKey, fold: Fold, chunk?: EventChunk) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
    this.#commands = new ClockCommands(this.#timers, options.log, key);
    this.key = key;
    this.#seen = fold;
    this.tail = new Tail(options.tailBytes, chunk === undefined ? fold.lastSequence : 0, fold.execution.state);
    this.tail.publish(chunk, fold.lastSequence, fold.execution.state);
    this.writer = new Writer(options.store, key, fold, options.log, (committed, chunk) =>
      this.#committed(committed, chunk),
    );
    this.#armDeadline(fold);
    this.#armExpiry(fold);
    this.#armOrphan();
  }

  /** Resolves when the execution is terminal. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  get runner(): Runner | undefined {
    return this.#runner;
  }

  /** Gives the execution to a runner, which every later commit wakes. */
  own(runner: Runner | undefined): void {
    this.#runner = runner;
    if (this.#owed !== undefined) runner?.fail(this.#owed);
  }

  /** Counts a reader in; the returned function, called once, counts it out. */
  watch(): () => void {
    this.#watchers++;
    this.#stopOrphan?.();
    let out = false;
    return () => {
      if (out) return;
      out = true;
      this.#watchers--;
      if (this.#watchers === 0) this.#armOrphan();
    };
  }

  /**
   * Asks to stop; the result tells whether anything changed. A queued execution
   * that nobody runs is over at once. One that ran before is ended by its runner,
   * or by its recovery: somebody may still work on it.
   */
  async cancel(reason: string, principal: Caller | undefined): Promise<boolean> {
    const { clock } = this.#options;
    return await this.writer.decide((fold) => {
      const owned = this.#runner !== undefined || fold.execution.state !== ExecutionState.QUEUED;
      return decideCancel(fold, reason, principal, owned, clock.now());
    });
  }

  /**
   * Fails the execution: through its runner, which cleans up first; at once where
   * it is queued; else as soon as its recovery knows what is left of it.
   */
  async fail(failure: Failure): Promise<void> {
    if (this.#runner !== undefined) {
      this.#runner.fail(failure);
      return;
    }
    this.#owed ??= failure;
    if (this.writer.committed.execution.state === ExecutionState.QUEUED) await this.end(failure, { error: "" });
  }

  /** Writes the end of an execution that nobody runs: CANCELLED where it was asked to stop, else FAILED. */
  async end(failure: Failure | undefined, cleanup: Cleanup): Promise<void> {
    const { clock } = this.#options;
    const partialOutput = await this.#lastText();
    await this.writer.decide((fold) => {
      const why = this.#owed ?? failure;
      const undecided = why === undefined && !isCancelling(fold);
      return undecided ? nothing(fold, undefined) : decideEnd(fold, why, cleanup, partialOutput, clock.now());
    });
  }

  /** The text of the last turn, as it is stored. */
  async #lastText(): Promise<string> {
    const { turnStart } = this.writer.committed.inner;
    if (turnStart === 0) return "";
    return (await recollect(this.#options.store, this.key, turnStart)).text.text;
  }

  /** Ends all clocks. */
  close(): void {
    this.#timers.close();
  }

  #committed(fold: Fold, chunk: EventChunk | undefined): void {
    const changed = fold.execution !== this.#seen.execution || fold.inner !== this.#seen.inner;
    this.#seen = fold;
    this.tail.publish(chunk, fold.lastSequence, fold.execution.state);
    if (changed) {
      this.#armExpiry(fold);
      this.#runner?.follow();
    }
    if (isTerminal(fold.execution.state)) {
      this.close();
      this.#over.resolve();
    }
    this.#options.onCommit(this, changed);
  }

  #armDeadline({ execution }: Fold): void {
    if (execution.deadlineTime === undefined) return;
    const failure = { reason: FailureReason.DEADLINE_EXCEEDED, message: "the execution's deadline passed" };
    this.#at(timestampMs(execution.deadlineTime), () => this.fail(failure));
  }

  #armExpiry(fold: Fold): void {
    const open = openAction(fold);
    if (open?.id === this.#expiring) return;
    this.#stopExpiry?.();
    this.#expiring = open?.id ?? "";
    const atMs = open === undefined ? undefined : expireTimeMs(open);
    if (open === undefined || atMs === undefined) return;
    this.#stopExpiry = this.#at(atMs, () => this.#expire(open.id));
  }

  /** Commands at a time, at once where it has passed; the returned function takes it back. */
  #at(timeMs: number, command: () => Promise<unknown>): () => void {
    return this.#timers.after(Math.max(timeMs - this.#timers.now(), 0), () => this.#commands.run(command));
  }

  async #expire(actionId: string): Promise<void> {
    const { clock } = this.#options;
    const expired = await this.writer.decide((fold) => decideExpire(fold, actionId, clock.now()));
    const policy = this.writer.committed.execution.actionPolicy?.onTimeout;
    if (!expired) return;
    if (policy === ActionTimeoutPolicy.FAIL) {
      await this.fail({ reason: FailureReason.ACTION_TIMEOUT, message: `nobody answered action ${actionId} in time` });
    }
  }

  #armOrphan(): void {
    const grace = this.#seen.execution.orphanPolicy?.cancelAfter;
    if (grace === undefined) return;
    this.#stopOrphan?.();
    this.#stopOrphan = this.#at(this.#timers.now() + durationToMs(grace), async () => {
      if (this.#watchers === 0) await this.cancel("nobody watched the execution", undefined);
    });
  }
}
