import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { ActionDesk } from "./action-desk.js";
import { bounded, promised } from "./bounded.js";
import { exhaustedBudget } from "./budget.js";
import { cleanUp } from "./clean-up.js";
import { nextTurnInput } from "./decide-input.js";
import type { Cleanup, Failure } from "./decide-run.js";
import { nothing } from "./decision.js";
import type { Fold } from "./fold.js";
import { haltCause, haltError } from "./halt.js";
import { thrown, violation } from "./outcome.js";
import type { ResumeInfo } from "./provider.js";
import { type CallEnd, callProvider } from "./provider-call.js";
import { resumeInfo, turnInput } from "./resume-info.js";
import type { WorkOptions } from "./runner-options.js";
import type { SideRows } from "./store.js";
import { Turn } from "./turn.js";
import { TurnAbortedError } from "./turn-aborted.js";
import { recollect, TextCollector } from "./turn-text.js";

const START_TIMEOUT_MS = 60_000;

/**
 * The provider's work on an execution, attempt by attempt and turn by turn: the
 * context that it is called with, the actions that it asks for, and what runs.
 */
export class ProviderWork {
  readonly #options: WorkOptions;
  #turn: Turn | undefined;
  #desk: ActionDesk | undefined;
  /** Resolved when the current turn must give way to a replacing input. */
  #replaced = Promise.withResolvers<void>();
  #running: Promise<unknown> = Promise.resolve();
  /** For the first turn that the provider is called for in a resumed attempt. */
  #resume: ResumeInfo | undefined;
  /** Whether the provider was called at all: else there is nothing to end. */
  #entered: boolean;
  #reattached: boolean;

  constructor(options: WorkOptions) {
    this.#options = options;
    this.#reattached = options.entry === "reattach";
    this.#entered = this.#reattached;
  }

  get turn(): Turn | undefined {
    return this.#turn;
  }

  /** Whether an action is open or waits to be. */
  get isAsking(): boolean {
    return this.#desk?.isBusy === true;
  }

  /** Looks at what is stored. */
  follow(): void {
    this.#desk?.follow();
    this.#turn?.follow();
    this.#replaceIfAsked();
  }

  #replaceIfAsked(): void {
    if (nextTurnInput(this.#options.writer.committed)?.mode === InputMode.REPLACE) this.#replaced.resolve();
  }

  /** Aborts the current turn. */
  abort(error: TurnAbortedError): void {
    this.#turn?.abort(error);
  }

  /** Takes the actions of an attempt; `rows` are what earlier ones left. */
  openDesk(rows: SideRows | undefined): void {
    this.#desk = new ActionDesk({ ...this.#options, manifest: this.#options.provider.manifest }, rows);
  }

  /** Tells the next turn what the attempts before `attempt` left: `before` is their fold. */
  resumeAs(attempt: number, before: Fold, rows: SideRows): void {
    this.#resume = resumeInfo(attempt, before, rows, this.#desk?.answers ?? []);
  }

  /** Gives up an attempt whose provider is lost. */
  lose({ message }: Failure): void {
    this.#reattached = false;
    this.#turn?.abort(new TurnAbortedError("failed", message));
    this.#turn?.end();
  }

  /** Makes the context of the turn that the fold is in; with `again` it ran before, and its text is collected from the log. */
  async makeTurn(again: boolean): Promise<void> {
    const { writer, store, key, provider, halt, decide, fail } = this.#options;
    await decide((fold) => nothing(fold, undefined)); // What is decided is stored: so is the turn's input.
    const fold = writer.head;
    const text = again ? await recollect(store, key, fold.inner.turnStart) : new TextCollector();
    this.#replaced = Promise.withResolvers();
    this.#turn = new Turn({
      ...this.#options,
      manifest: provider.manifest,
      desk: this.#desk as ActionDesk,
      fold,
      input: await turnInput(store, key, fold),
      resume: this.#resume,
      reattached: this.#reattached && this.#resume !== undefined,
      text,
      onViolation: (message) => fail(violation(message)),
      onEmitted: (fold) => this.#checkBudget(fold),
    });
    if (halt.halt !== undefined) this.#turn.abort(haltError(halt.halt));
  }

  #checkBudget(fold: Fold): void {
    if (this.#options.provider.enforcesBudgets) return;
    const exhausted = exhaustedBudget(fold.execution);
    if (exhausted !== undefined) {
      this.#options.fail({ reason: FailureReason.BUDGET_EXHAUSTED, message: exhausted });
    }
  }

  /** The provider's own start, in STARTING. */
  async start(): Promise<void> {
    const { provider, clock, halt, fail } = this.#options;
    const { start, startTimeoutMs = START_TIMEOUT_MS } = provider;
    const turn = this.#turn;
    if (start === undefined || turn === undefined) return;
    this.#entered = true;
    this.#running = promised(() => start.call(provider, turn));
    const started = await halt.unlessHalted(bounded(clock, startTimeoutMs, this.#running));
    if (started?.kind === "threw") fail(thrown(started.error));
    if (started?.kind === "late") {
      const message = `the provider did not start within ${startTimeoutMs} ms`;
      fail({ reason: FailureReason.PROVIDER_START_TIMEOUT, message });
    }
  }

  /** Calls the provider for its turn, until it returns or must give way. */
  async call(turn: Turn): Promise<CallEnd> {
    const { provider, clock, halt } = this.#options;
    this.#entered = true;
    this.#resume = undefined;
    const call = callProvider(clock, provider, turn, halt, this.#replaced.promise);
    this.#running = call.running;
    this.#replaceIfAsked();
    return await call.ended;
  }

  /** Aborts the turn and ends native work; nothing where the provider was never entered. */
  async cleanUp(reason: string): Promise<Cleanup> {
    const { provider, clock, halt } = this.#options;
    const turn = this.#turn;
    if (turn === undefined || !this.#entered) return { error: "" };
    if (halt.halt !== undefined) turn.abort(haltError(halt.halt));
    turn.end();
    return await cleanUp(clock, provider, turn, this.#running, reason, haltCause(halt.halt));
  }

  /** Lets the provider drop what it keeps for the execution. */
  async dispose(): Promise<void> {
    const { provider, key } = this.#options;
    const turn = this.#turn;
    if (turn === undefined || !this.#entered) return;
    turn.abort(new TurnAbortedError("over", `execution ${key.executionId} is over`));
    await provider.dispose?.(turn);
  }
}
