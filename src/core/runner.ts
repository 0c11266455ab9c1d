import { create } from "@bufbuild/protobuf";
import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionErrorSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { ActionDesk, inputAction, stamp } from "./action-desk.js";
import { type Bounded, bounded, promised } from "./bounded.js";
import { exhaustedBudget } from "./budget.js";
import { supports } from "./capability.js";
import { cleanUp } from "./clean-up.js";
import type { Clock } from "./clock.js";
import { decideNextTurn, nextTurnInput } from "./decide-input.js";
import {
  type Cleanup,
  decideAwaitInput,
  decideEnd,
  decideResumed,
  decideStarted,
  decideStarting,
  decideSuccess,
  type Failure,
} from "./decide-run.js";
import { nothing } from "./decision.js";
import { isHarnessError } from "./errors.js";
import { type Fold, isCancelling, openAction } from "./fold.js";
import { type Halt, HaltSwitch, haltError } from "./halt.js";
import type { Ids } from "./ids.js";
import { isTerminal } from "./lifecycle.js";
import { type TurnEnd, thrown, violation } from "./outcome.js";
import { decideAsOwner } from "./owner.js";
import type { HistoryItem, Log, Provider, ResumeInfo } from "./provider.js";
import { type CallEnd, callProvider } from "./provider-call.js";
import { resumeInfo, turnInput } from "./resume-info.js";
import type { ExecutionKey, Store } from "./store.js";
import { Turn } from "./turn.js";
import { TurnAbortedError } from "./turn-aborted.js";
import { recollect, TextCollector } from "./turn-text.js";
import type { Decide, Writer } from "./writer.js";

const START_TIMEOUT_MS = 60_000;
/** An execution whose provider is lost more often than this fails: it may be what kills it. */
const MOST_LOSSES = 5;
/** What a runner works on. */
export interface RunnerOptions {
  readonly key: ExecutionKey;
  readonly writer: Writer;
  readonly provider: Provider;
  readonly fence: number;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly node: string;
  readonly log: Log;
  readonly history: () => Promise<readonly HistoryItem[]>;
  readonly scratchDir: () => Promise<string>;
  /** `fresh` runs attempt 1; `resume` begins the next attempt; `reattach` goes on with one that never stopped. */
  readonly entry: "fresh" | "resume" | "reattach";
}

/** How a runner stopped: the execution is terminal, was given up to another owner, or the runtime failed to run it. */
export type RunnerEnd = "over" | "let go" | "broken";

/**
 * Owns one running execution: calls its provider turn by turn, follows the log
 * for inputs, answers and cancellation, and writes how it ends. It acts on what
 * is stored, never on what was merely asked for.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #switch = new HaltSwitch();
  readonly #ended = Promise.withResolvers<RunnerEnd>();
  #turn: Turn | undefined;
  #desk: ActionDesk | undefined;
  /** Resolved when the current turn must give way to a replacing input. */
  #replaced = Promise.withResolvers<void>();
  /** Called at each commit that changed more than the head. */
  #onChange: (() => void) | undefined;
  #running: Promise<unknown> = Promise.resolve();
  /** For the first turn that the provider is called for in a resumed attempt. */
  #resume: ResumeInfo | undefined;
  #entered = false;
  #reattached: boolean;
  /** How often the provider was lost. */
  #losses = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#reattached = options.entry === "reattach";
    this.#entered = this.#reattached;
    void this.#live();
  }

  /** Resolves when the execution is over, or not run here any more. */
  get ended(): Promise<RunnerEnd> {
    return this.#ended.promise;
  }

  /** Looks at what is stored; called after each commit that changed more than the head. */
  follow(): void {
    const { committed } = this.#options.writer;
    if (isCancelling(committed)) this.#stop({ kind: "cancel" });
    this.#desk?.follow();
    this.#turn?.follow();
    if (nextTurnInput(committed)?.mode === InputMode.REPLACE) this.#replaced.resolve();
    this.#onChange?.();
  }

  /** Fails the execution, unless it is already on its way to an end. */
  fail(failure: Failure): void {
    this.#stop({ kind: "fail", failure });
  }

  /** Lets go of the execution: ends native work and writes nothing more. */
  async abandon(): Promise<void> {
    this.#stop({ kind: "abandon", why: "released" });
    await this.#ended.promise;
  }

  #stop(halt: Halt): void {
    if (!this.#switch.stop(halt)) return;
    this.#turn?.abort(haltError(halt));
    this.#onChange?.();
  }

  get #halt(): Halt | undefined {
    return this.#switch.halt;
  }

  async #live(): Promise<void> {
    let end: RunnerEnd;
    try {
      end = await this.#run();
    } catch (error) {
      end = this.#broke(error);
      this.#stop({ kind: "abandon", why: isHarnessError(error, ErrorReason.FENCED) ? "fenced" : "failed" });
      await this.#safely("the provider's work was not ended", () =>
        this.#cleanUp("the runtime let go of the execution"),
      );
    }
    await this.#safely("the provider did not dispose of an execution", () => this.#dispose());
    this.#ended.resolve(end);
  }

  /** Whatever happens in `work` is logged and goes no further. */
  async #safely(message: string, work: () => Promise<unknown>): Promise<void> {
    const { log, key } = this.#options;
    try {
      await work();
    } catch (error) {
      log.warn({ executionId: key.executionId, error }, message);
    }
  }

  async #run(): Promise<RunnerEnd> {
    await this.#enter();
    while (!this.#isDone() && (await this.#runTurn()));
    if (!isTerminal(this.#options.writer.head.execution.state)) await this.#end();
    return this.#switch.isAbandoned ? "let go" : "over";
  }

  /** What an error that only the store or a bug can cause means for the execution. */
  #broke(error: unknown): RunnerEnd {
    const { log, key } = this.#options;
    if (isHarnessError(error, ErrorReason.FENCED)) {
      log.warn({ executionId: key.executionId }, "another node owns this execution now; stopping its work here");
      return "let go";
    }
    log.error({ executionId: key.executionId, error }, "the runner stopped");
    return this.#switch.isAbandoned ? "let go" : "broken";
  }

  /** Whether it is on its way to an end, or there. */
  #isDone(): boolean {
    return this.#halt !== undefined || isTerminal(this.#options.writer.head.execution.state);
  }

  /** From QUEUED to RUNNING, or into the next attempt. */
  async #enter(): Promise<void> {
    const { writer, node, clock, entry, store, key } = this.#options;
    const before = writer.committed;
    const rows = entry === "fresh" ? undefined : await store.getSideRows(key);
    this.#desk = new ActionDesk({ ...this.#options, manifest: this.#options.provider.manifest }, rows);
    if (entry === "fresh") {
      await this.#decide((fold) => {
        return fold.execution.state === ExecutionState.QUEUED
          ? decideStarting(fold, node, clock.now())
          : nothing(fold, undefined);
      });
    } else if (entry === "resume") {
      await this.#beginAttempt({
        reason: FailureReason.RUNTIME_RESTARTED,
        message: "the runtime that ran the last attempt is gone",
      });
    }
    this.follow();
    // Whoever goes on with a running attempt must be told to stop: only then is there nothing to enter.
    if (this.#isDone() && !this.#reattached) return;
    const attempt = before.execution.attempt + (entry === "resume" ? 1 : 0);
    if (rows !== undefined) this.#resume = resumeInfo(attempt, before, rows, this.#desk.answers);
    await this.#makeTurn(rows !== undefined);
    if (entry !== "reattach") await this.#start();
    await this.#started();
  }

  async #beginAttempt(previousFailure: Failure): Promise<void> {
    const { node, clock } = this.#options;
    const failure = create(ExecutionErrorSchema, previousFailure);
    await this.#decide((fold) => this.#unlessOver(fold, () => decideResumed(fold, node, failure, clock.now())));
  }

  /** The attempt's provider is lost: goes on with the next one, which knows what is stored. */
  async #nextAttempt(lost: Failure): Promise<boolean> {
    const { writer, store, key, provider } = this.#options;
    this.#losses++;
    this.#turn?.abort(new TurnAbortedError("failed", lost.message));
    this.#turn?.end();
    // What the lost attempt still had under way is stored before it is read.
    await this.#decide((fold) => nothing(fold, undefined));
    const rows = await store.getSideRows(key);
    const before = writer.committed;
    this.#desk = new ActionDesk({ ...this.#options, manifest: provider.manifest }, rows);
    await this.#beginAttempt(lost);
    this.follow();
    if (this.#isDone()) return false;
    this.#reattached = false;
    this.#resume = resumeInfo(before.execution.attempt + 1, before, rows, this.#desk.answers);
    await this.#makeTurn(true);
    await this.#start();
    await this.#started();
    return this.#halt === undefined;
  }

  #unlessOver(fold: Fold, decide: () => ReturnType<typeof decideStarted>): ReturnType<typeof decideStarted> {
    return isCancelling(fold) || isTerminal(fold.execution.state) ? nothing(fold, undefined) : decide();
  }

  /** The provider's own start, in STARTING. */
  async #start(): Promise<void> {
    const { provider, clock } = this.#options;
    const { start, startTimeoutMs = START_TIMEOUT_MS } = provider;
    const turn = this.#turn;
    if (start === undefined || turn === undefined) return;
    this.#entered = true;
    this.#running = promised(() => start.call(provider, turn));
    const started = await Promise.race([bounded(clock, startTimeoutMs, this.#running), this.#switch.halted]);
    if (started !== undefined) this.#checkStart(started, startTimeoutMs);
  }

  /** Enters RUNNING, the first time. */
  async #started(): Promise<void> {
    const { clock, node } = this.#options;
    if (this.#halt !== undefined) return;
    await this.#decide((fold) => {
      return fold.execution.state === ExecutionState.STARTING
        ? decideStarted(fold, node, clock.now())
        : nothing(fold, undefined);
    });
  }

  #checkStart(started: Bounded<unknown>, limitMs: number): void {
    if (started.kind === "threw") this.fail(thrown(started.error));
    if (started.kind === "late") {
      this.fail({
        reason: FailureReason.PROVIDER_START_TIMEOUT,
        message: `the provider did not start within ${limitMs} ms`,
      });
    }
  }

  /** Makes the context of the turn that the fold is in; with `again` it ran before, and its text is collected from the log. */
  async #makeTurn(again: boolean): Promise<void> {
    const { writer, store, key, provider } = this.#options;
    await this.#decide((fold) => nothing(fold, undefined)); // What is decided is stored: so is the turn's input.
    const { inner } = writer.head;
    const text = again ? await recollect(store, key, inner.turnStart) : new TextCollector();
    this.#replaced = Promise.withResolvers();
    this.#turn = new Turn({
      ...this.#options,
      manifest: provider.manifest,
      desk: this.#desk as ActionDesk,
      input: await turnInput(store, key, writer.head),
      resume: this.#resume,
      reattached: this.#reattached && this.#resume !== undefined,
      text,
      onViolation: (message) => this.fail(violation(message)),
      onEmitted: (fold) => this.#checkBudget(fold),
    });
    if (this.#halt !== undefined) this.#turn.abort(haltError(this.#halt));
  }

  #checkBudget(fold: Fold): void {
    if (this.#options.provider.enforcesBudgets) return;
    const exhausted = exhaustedBudget(fold.execution);
    if (exhausted !== undefined) this.fail({ reason: FailureReason.BUDGET_EXHAUSTED, message: exhausted });
  }

  /** Runs one turn; returns whether another follows. */
  async #runTurn(): Promise<boolean> {
    const { writer } = this.#options;
    if (writer.head.inner.answerBeginsTurn) return await this.#awaitAnswer();
    if (nextTurnInput(writer.head)?.mode === InputMode.REPLACE) return await this.#nextTurn();
    if (this.#turn?.turn !== writer.head.execution.turn) return await this.#remakeTurn();
    const called = await this.#callProvider(this.#turn);
    if (this.#halt !== undefined) return false;
    switch (called.kind) {
      case "ended":
        return await this.#settleTurn(called.end);
      case "lost":
        return await this.#lose(called.failure);
      case "stuck": {
        const message = `the provider did not stop within ${called.limitMs} ms for a replacing input`;
        this.fail({ reason: FailureReason.PROVIDER_ERROR, message });
        return false;
      }
      default:
        return await this.#nextTurn();
    }
  }

  /** Goes on after a turn that its provider ended. */
  async #settleTurn(end: TurnEnd): Promise<boolean> {
    if (end.kind === "failed") {
      this.fail(end.failure);
      return false;
    }
    if (this.#desk?.isBusy) {
      this.fail(violation("the provider returned while an action was open or waiting"));
      return false;
    }
    return end.kind === "awaiting" ? await this.#askForInput(end) : await this.#succeed(end);
  }

  /** Goes on with the next attempt where that can be, else fails. */
  async #lose(failure: Failure): Promise<boolean> {
    const { manifest } = this.#options.provider;
    if (this.#losses < MOST_LOSSES && supports(manifest, "execution.resume")) return await this.#nextAttempt(failure);
    this.fail(failure);
    return false;
  }

  /** Makes the context of the turn that was begun by an answer or a revision. */
  async #remakeTurn(): Promise<boolean> {
    await this.#makeTurn(false);
    return true;
  }

  async #callProvider(turn: Turn): Promise<CallEnd> {
    const { provider, clock, writer } = this.#options;
    this.#entered = true;
    this.#resume = undefined;
    const call = callProvider(clock, provider, turn, this.#switch.halted, this.#replaced.promise);
    this.#running = call.running;
    if (nextTurnInput(writer.committed)?.mode === InputMode.REPLACE) this.#replaced.resolve();
    return await call.ended;
  }

  async #succeed({ success }: Extract<TurnEnd, { kind: "succeeded" }>): Promise<boolean> {
    const { clock } = this.#options;
    const next = await this.#decide((fold) => {
      return this.#halt === undefined
        ? decideSuccess(fold, success, clock.now())
        : nothing(fold, "cancelling" as const);
    });
    if (next === "next_turn") return await this.#nextTurn();
    if (next === "stopped") {
      this.fail({ reason: FailureReason.POLICY_STOPPED, message: success.evaluation?.reason ?? "" });
    }
    return next === "revise" && (await this.#remakeTurn());
  }

  /** Begins the next turn with the input that waits for it. */
  async #nextTurn(): Promise<boolean> {
    const { clock } = this.#options;
    const begun = await this.#decide((fold) => {
      const over = isCancelling(fold) || isTerminal(fold.execution.state) || this.#halt !== undefined;
      const next = over ? undefined : decideNextTurn(fold, clock.now());
      return next === undefined ? nothing(fold, false) : { ...next, result: true };
    });
    if (begun) await this.#makeTurn(false);
    return this.#halt === undefined;
  }

  /** Opens the action whose answer is the next turn's input. */
  async #askForInput({ evaluation, request }: Extract<TurnEnd, { kind: "awaiting" }>): Promise<boolean> {
    const { clock, ids } = this.#options;
    const action = inputAction(ids.next("action"), request);
    await this.#decide((fold) => {
      stamp(action, fold.execution, clock.now());
      return decideAwaitInput(fold, evaluation, { action, key: request.key }, clock.now());
    });
    return await this.#awaitAnswer();
  }

  /** Waits until the answer (or a replacing input) began the next turn, then makes it. */
  async #awaitAnswer(): Promise<boolean> {
    const { writer } = this.#options;
    const isOpen = (): boolean => openAction(writer.committed) !== undefined || openAction(writer.head) !== undefined;
    while (this.#halt === undefined && isOpen()) {
      const changed = Promise.withResolvers<void>();
      this.#onChange = changed.resolve;
      if (isOpen() && this.#halt === undefined) await changed.promise;
      this.#onChange = undefined;
    }
    if (this.#halt !== undefined) return false;
    if (nextTurnInput(writer.head)?.mode === InputMode.REPLACE) return await this.#nextTurn();
    return await this.#remakeTurn();
  }

  /** Ends an execution that does not succeed. */
  async #end(): Promise<void> {
    const { writer, clock } = this.#options;
    if (this.#halt === undefined || this.#halt.kind === "abandon") {
      await this.#cleanUp("the runtime let go of the execution");
      return;
    }
    const failure = this.#halt.kind === "fail" ? this.#halt.failure : undefined;
    const cancel = writer.head.execution.cancel?.reason ?? "";
    const cleanup = await this.#cleanUp(failure?.message ?? cancel);
    if (this.#switch.isAbandoned) return;
    const partial = this.#turn?.text.text ?? "";
    await this.#decide((fold) => decideEnd(fold, failure, cleanup, partial, clock.now()));
  }

  /** Aborts the turn and ends native work; nothing where the provider was never entered. */
  async #cleanUp(reason: string): Promise<Cleanup> {
    const { provider, clock } = this.#options;
    const turn = this.#turn;
    if (turn === undefined || !this.#entered) return { error: "" };
    if (this.#halt !== undefined) turn.abort(haltError(this.#halt));
    turn.end();
    return await cleanUp(clock, provider, turn, this.#running, reason);
  }

  #decide<T>(decide: Decide<T>): Promise<T> {
    const { clock, writer, fence } = this.#options;
    return decideAsOwner(writer, fence, clock, () => this.#switch.isAbandoned, decide);
  }

  async #dispose(): Promise<void> {
    const { provider, key } = this.#options;
    const turn = this.#turn;
    if (turn === undefined || !this.#entered) return;
    turn.abort(new TurnAbortedError("over", `execution ${key.executionId} is over`));
    await provider.dispose?.(turn);
  }
}
