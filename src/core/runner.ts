import { create, fromBinary } from "@bufbuild/protobuf";
import { ActionKind, ActionRequestSchema, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { type Content, ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionErrorSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { ActionDesk, stamp } from "./action-desk.js";
import { type Bounded, bounded, promised } from "./bounded.js";
import { exhaustedBudget } from "./budget.js";
import { supports } from "./capability.js";
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
import { type Fold, isCancelling, openAction, toExecution } from "./fold.js";
import type { Ids } from "./ids.js";
import { isTerminal } from "./lifecycle.js";
import { checkOutcome, type TurnEnd, thrown, violation } from "./outcome.js";
import type { CleanupReport, HistoryItem, Log, Provider, ResumeInfo } from "./provider.js";
import { ProviderLostError } from "./provider-lost.js";
import type { ExecutionKey, SideRows, Store } from "./store.js";
import { Turn } from "./turn.js";
import { TurnAbortedError } from "./turn-aborted.js";
import { recollect, TextCollector } from "./turn-text.js";
import type { Decide, Writer } from "./writer.js";

const START_TIMEOUT_MS = 60_000;
const CANCEL_TIMEOUT_MS = 10_000;
/** An execution whose provider is lost more often than this fails: it may be what kills it. */
const MOST_LOSSES = 5;
/** The longest pause between tries to write an execution's end while the store fails. */
const LONGEST_RETRY_MS = 5_000;

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

/** Why a turn does not go on: the first reason counts. */
type Halt =
  | { readonly kind: "cancel" }
  | { readonly kind: "fail"; readonly failure: Failure }
  | { readonly kind: "abandon"; readonly fenced?: boolean };

/**
 * Owns one running execution: calls its provider turn by turn, follows the log
 * for inputs, answers and cancellation, and writes how it ends. It acts on what
 * is stored, never on what was merely asked for.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #halted = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<RunnerEnd>();
  #halt: Halt | undefined;
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
  /** How often the provider was lost, and the failure that the last loss would be. */
  #losses = 0;
  #lost: Failure | undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#reattached = options.entry === "reattach";
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
    this.#stop({ kind: "abandon" });
    await this.#ended.promise;
  }

  #stop(halt: Halt): void {
    if (this.#halt !== undefined && !(halt.kind === "abandon" && this.#halt.kind !== "abandon")) return;
    this.#halt = halt;
    this.#turn?.abort(haltError(halt));
    this.#halted.resolve();
    this.#onChange?.();
  }

  async #live(): Promise<void> {
    let end: RunnerEnd;
    try {
      end = await this.#run();
    } catch (error) {
      end = this.#broke(error);
      this.#stop({ kind: "abandon", fenced: isHarnessError(error, ErrorReason.FENCED) });
      await this.#cleanUp("the runtime let go of the execution");
    }
    await this.#dispose();
    this.#ended.resolve(end);
  }

  async #run(): Promise<RunnerEnd> {
    await this.#enter();
    while (!this.#isDone() && (await this.#runTurn()));
    if (!isTerminal(this.#options.writer.head.execution.state)) await this.#end();
    return this.#isAbandoned() ? "let go" : "over";
  }

  /** What an error that only the store or a bug can cause means for the execution. */
  #broke(error: unknown): RunnerEnd {
    const { log, key } = this.#options;
    if (isHarnessError(error, ErrorReason.FENCED)) {
      log.warn({ executionId: key.executionId }, "another node owns this execution now; stopping its work here");
      return "let go";
    }
    log.error({ executionId: key.executionId, error }, "the runner stopped");
    return this.#isAbandoned() ? "let go" : "broken";
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
    if (this.#isDone()) return;
    const attempt = before.execution.attempt + (entry === "resume" ? 1 : 0);
    if (rows !== undefined) this.#resume = this.#resumeInfo(attempt, before, rows);
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
    this.#resume = this.#resumeInfo(before.execution.attempt + 1, before, rows);
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
    const started = await Promise.race([bounded(clock, startTimeoutMs, this.#running), this.#halted.promise]);
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

  #resumeInfo(attempt: number, before: Fold, rows: SideRows): ResumeInfo {
    const bodies = new Map(rows.inputs.map(({ inputId, bytes }) => [inputId, bytes]));
    return {
      attempt,
      state: rows.resumeState,
      lastSequence: before.lastSequence,
      mark: before.inner.mark,
      answers: this.#desk?.answers ?? [],
      inputs: before.inner.steers.map((inputId) => ({
        inputId,
        content: fromBinary(ContentSchema, bodies.get(inputId) ?? new Uint8Array()),
      })),
    };
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
      input: await this.#turnInput(),
      resume: this.#resume,
      reattached: this.#reattached && this.#resume !== undefined,
      text,
      onViolation: (message) => this.fail(violation(message)),
      onEmitted: (fold) => this.#checkBudget(fold),
    });
    if (this.#halt !== undefined) this.#turn.abort(haltError(this.#halt));
  }

  async #turnInput(): Promise<Content> {
    const { writer, store, key } = this.#options;
    const { inner, execution } = writer.head;
    if (inner.turnInput === "") return execution.input ?? create(ContentSchema);
    const row = await store.getInput(key, inner.turnInput);
    return row === undefined ? create(ContentSchema) : fromBinary(ContentSchema, row.bytes);
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
    const end = await this.#callProvider();
    if (end === undefined || this.#halt !== undefined) return this.#halt === undefined && (await this.#nextTurn());
    return await this.#settleTurn(end);
  }

  /** Goes on after a turn that its provider ended. */
  async #settleTurn(end: TurnEnd): Promise<boolean> {
    if (end.kind === "failed") {
      if (this.#mayTryAgain(end.failure)) return await this.#nextAttempt(end.failure);
      this.fail(end.failure);
      return false;
    }
    if (this.#desk?.isBusy) {
      this.fail(violation("the provider returned while an action was open or waiting"));
      return false;
    }
    return end.kind === "awaiting" ? await this.#askForInput(end) : await this.#succeed(end);
  }

  /** Whether an attempt's end is that of its provider's process alone. */
  #mayTryAgain(failure: Failure): boolean {
    const { manifest } = this.#options.provider;
    return this.#lost === failure && this.#losses < MOST_LOSSES && supports(manifest, "execution.resume");
  }

  /** Makes the context of the turn that was begun by an answer or a revision. */
  async #remakeTurn(): Promise<boolean> {
    await this.#makeTurn(false);
    return true;
  }

  /** Calls the provider for this turn; undefined where the turn was replaced or the execution halted. */
  async #callProvider(): Promise<TurnEnd | undefined> {
    const { provider, clock, writer } = this.#options;
    const turn = this.#turn as Turn;
    this.#entered = true;
    this.#resume = undefined;
    const running = promised(() => provider.run(turn));
    this.#running = running;
    if (nextTurnInput(writer.committed)?.mode === InputMode.REPLACE) this.#replaced.resolve();
    const settled = running.then(
      (value): Bounded<unknown> => ({ kind: "done", value }),
      (error: unknown): Bounded<unknown> => ({ kind: "threw", error }),
    );
    const first = await Promise.race([settled, this.#halted.promise, this.#replaced.promise]);
    if (this.#halt !== undefined) return undefined;
    if (first === undefined) {
      turn.abort(new TurnAbortedError("replaced", "the turn was replaced by a new input"));
      const gone = await Promise.race([bounded(clock, this.#cancelTimeoutMs, settled), this.#halted.promise]);
      if (gone?.kind === "late") {
        this.fail({
          reason: FailureReason.PROVIDER_ERROR,
          message: `the provider did not stop within ${this.#cancelTimeoutMs} ms for a replacing input`,
        });
      }
      turn.end();
      return undefined;
    }
    turn.end();
    if (first.kind === "threw") {
      const failure = thrown(first.error);
      if (first.error instanceof ProviderLostError) this.#lost = failure;
      return { kind: "failed", failure };
    }
    return checkOutcome(first.kind === "done" ? first.value : undefined, turn.text);
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
    const action = create(ActionRequestSchema, {
      id: ids.next("action"),
      kind: ActionKind.INPUT,
      state: ActionState.PENDING,
      title: request.title,
      description: request.description ?? "",
      providerRef: request.providerRef ?? "",
      ...(request.payload === undefined ? {} : { payload: request.payload }),
      ...(request.inputSchema === undefined ? {} : { inputSchema: request.inputSchema }),
    });
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
    if (this.#isAbandoned()) return;
    const partial = this.#turn?.text.text ?? "";
    await this.#decide((fold) => decideEnd(fold, failure, cleanup, partial, clock.now()));
  }

  #isAbandoned(): boolean {
    return this.#halt?.kind === "abandon";
  }

  /** Aborts the turn, calls the provider's hook once, and waits for its work, all within the limit. */
  async #cleanUp(reason: string): Promise<Cleanup> {
    const { provider, clock } = this.#options;
    const turn = this.#turn;
    if (turn === undefined || !this.#entered) return { error: "" };
    if (this.#halt !== undefined) turn.abort(haltError(this.#halt));
    turn.end();
    const limitMs = this.#cancelTimeoutMs;
    const untilMs = clock.now() + limitMs;
    const hook = await bounded(
      clock,
      limitMs,
      promised(() => provider.cancel?.(turn, reason)),
    );
    const rest = await bounded(clock, Math.max(untilMs - clock.now(), 0), this.#running);
    return toCleanup(hook, rest, limitMs);
  }

  get #cancelTimeoutMs(): number {
    return this.#options.provider.cancelTimeoutMs ?? CANCEL_TIMEOUT_MS;
  }

  /** Decides as the owner, and again while the store fails: an execution ends with an event, or is taken up by the next start. */
  async #decide<T>(decide: Decide<T>): Promise<T> {
    const { clock, writer, fence } = this.#options;
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS)) {
      try {
        return await writer.decide(decide, fence);
      } catch (error) {
        if (!isHarnessError(error, ErrorReason.STORE_UNAVAILABLE) || this.#isAbandoned()) throw error;
        await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
      }
    }
  }

  async #dispose(): Promise<void> {
    const { provider, log, key } = this.#options;
    const turn = this.#turn;
    if (turn === undefined || !this.#entered) return;
    turn.abort(new TurnAbortedError("over", `execution ${toExecution(this.#options.writer.head).id} is over`));
    try {
      await provider.dispose?.(turn);
    } catch (error) {
      log.warn({ executionId: key.executionId, error }, "the provider did not dispose of an execution");
    }
  }
}

function haltError(halt: Halt): TurnAbortedError {
  if (halt.kind === "fail") return new TurnAbortedError("failed", halt.failure.message);
  if (halt.kind === "cancel") return new TurnAbortedError("cancelled", "the execution was cancelled");
  return new TurnAbortedError(halt.fenced ? "fenced" : "released", "the runtime let go of the execution");
}

function toCleanup(hook: Bounded<CleanupReport | undefined>, rest: Bounded<unknown>, limitMs: number): Cleanup {
  const errors: string[] = [];
  if (hook.kind === "threw") errors.push(thrown(hook.error).message);
  if (hook.kind === "late") errors.push(`the provider's cancel hook did not return within ${limitMs} ms`);
  if (rest.kind === "late") errors.push(`the provider did not stop within ${limitMs} ms`);
  const report = hook.kind === "done" ? hook.value : undefined;
  if (report?.error) errors.push(report.error);
  return {
    error: errors.join("; "),
    ...(report?.containment === undefined ? {} : { containment: report.containment }),
  };
}
