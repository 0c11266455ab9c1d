import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { inputAction, stamp } from "./action-desk.js";
import { type AttemptOptions, enter, enterNext, isDone } from "./attempts.js";
import { supports } from "./capability.js";
import { decideNextTurn, nextTurnInput } from "./decide-input.js";
import { decideAwaitInput, decideEnd, decideSuccess, type Failure } from "./decide-run.js";
import { nothing } from "./decision.js";
import { isHarnessError } from "./errors.js";
import { isCancelling, openAction } from "./fold.js";
import { type Halt, HaltSwitch, haltError } from "./halt.js";
import { isTerminal } from "./lifecycle.js";
import { type TurnEnd, violation } from "./outcome.js";
import { decideAsOwner } from "./owner.js";
import { ProviderWork } from "./provider-work.js";
import type { RunnerOptions } from "./runner-options.js";
import type { Decide } from "./writer.js";

/** An execution whose provider is lost more often than this fails: it may be what kills it. */
const MOST_LOSSES = 5;

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
  readonly #work: ProviderWork;
  readonly #attempts: AttemptOptions;
  /** Called at each commit that changed more than the head. */
  #onChange: (() => void) | undefined;
  /** How often the provider was lost. */
  #losses = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    const shared = {
      ...options,
      halt: this.#switch,
      decide: <T>(decide: Decide<T>): Promise<T> => this.#decide(decide),
      fail: (failure: Failure): void => this.fail(failure),
    };
    this.#work = new ProviderWork(shared);
    this.#attempts = { ...shared, work: this.#work, follow: () => this.follow() };
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
    this.#work.follow();
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
    this.#work.abort(haltError(halt));
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
        this.#work.cleanUp("the runtime let go of the execution"),
      );
    }
    await this.#safely("the provider did not dispose of an execution", () => this.#work.dispose());
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
    await enter(this.#attempts);
    while (!isDone(this.#attempts) && (await this.#runTurn()));
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

  /** Runs one turn; returns whether another follows. */
  async #runTurn(): Promise<boolean> {
    const { writer } = this.#options;
    if (writer.head.inner.answerBeginsTurn) return await this.#awaitAnswer();
    const { turn } = this.#work;
    // An instance that went on with the turn over a restart has to stop it first.
    const isReplaced = nextTurnInput(writer.head)?.mode === InputMode.REPLACE;
    if (isReplaced && turn?.reattached !== true) return await this.#nextTurn();
    if (turn?.turn !== writer.head.execution.turn) return await this.#remakeTurn();
    const called = await this.#work.call(turn);
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
    if (this.#work.isAsking) {
      this.fail(violation("the provider returned while an action was open or waiting"));
      return false;
    }
    return end.kind === "awaiting" ? await this.#askForInput(end) : await this.#succeed(end);
  }

  /** Goes on with the next attempt where that can be, else fails. */
  async #lose(failure: Failure): Promise<boolean> {
    const { manifest } = this.#options.provider;
    if (this.#losses < MOST_LOSSES && supports(manifest, "execution.resume")) {
      this.#losses++;
      return await enterNext(this.#attempts, failure);
    }
    this.fail(failure);
    return false;
  }

  /** Makes the context of the turn that was begun by an answer or a revision. */
  async #remakeTurn(): Promise<boolean> {
    await this.#work.makeTurn(false);
    return true;
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
    if (begun) await this.#work.makeTurn(false);
    return this.#halt === undefined;
  }

  /** Opens the action whose answer is the next turn's input. */
  async #askForInput(end: Extract<TurnEnd, { kind: "awaiting" }>): Promise<boolean> {
    const { clock, ids } = this.#options;
    const action = inputAction(ids.next("action"), end.request);
    await this.#decide((fold) => {
      stamp(action, fold.execution, clock.now());
      return decideAwaitInput(fold, end, { action, key: end.request.key }, clock.now());
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
      await this.#work.cleanUp("the runtime let go of the execution");
      return;
    }
    const failure = this.#halt.kind === "fail" ? this.#halt.failure : undefined;
    const cancel = writer.head.execution.cancel?.reason ?? "";
    const cleanup = await this.#work.cleanUp(failure?.message ?? cancel);
    const emitted = this.#switch.isAbandoned ? undefined : await this.#work.turn?.collectText();
    if (this.#switch.isAbandoned) return;
    await this.#decide((fold) => decideEnd(fold, failure, cleanup, emitted?.text ?? "", clock.now()));
  }

  #decide<T>(decide: Decide<T>): Promise<T> {
    const { clock, writer, fence } = this.#options;
    return decideAsOwner(writer, fence, clock, () => this.#switch.isAbandoned, decide);
  }
}
