import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { ProviderContext } from "../core/provider.js";
import { Emitter } from "./emitter.js";
import type { EngineRun } from "./engine-run.js";
import { HarnessBudgetError, messageOf, RunFailure } from "./errors.js";
import type { MessageContent } from "./message.js";
import type { RunContext } from "./run-context.js";
import type { HarnessExecutionServices } from "./services.js";
import { type ContextEntryMessages, retrieveForTurn } from "./turn-context.js";

/** Which of a turn's revisions and which call of the driver. */
type TurnPlace = Pick<TurnScope, "revision" | "entry">;

/** One call of a run's driver for a turn, as everything that serves its driver sees it. */
export class TurnScope {
  readonly run: EngineRun;
  readonly context: ProviderContext;
  readonly emitter: Emitter;
  readonly input: MessageContent;
  /** 0 for a turn's first result, and one more for each revision of it. */
  readonly revision: number;
  /** From 1: which call of the driver in this turn it is. */
  readonly entry: number;
  readonly ctx: RunContext;
  /** The tools that may be dispatched now; unset: all that are granted. */
  active: ReadonlySet<string> | undefined;
  /** The sources of which the log says that a context policy leaves them out. */
  readonly leftOut = new Set<string>();
  #ended = false;
  #services: HarnessExecutionServices | undefined;
  #retrieved: Promise<ContextEntryMessages> | undefined;

  constructor(run: EngineRun, context: ProviderContext, input: MessageContent, { revision, entry }: TurnPlace) {
    this.run = run;
    this.context = context;
    this.emitter = new Emitter(context, run.config.served ? undefined : run.turnText);
    this.input = input;
    this.active = run.active;
    this.revision = revision;
    this.entry = entry;
    this.ctx = run.context(context.signal, () => this.services);
  }

  get signal(): AbortSignal {
    return this.context.signal;
  }

  get services(): HarnessExecutionServices {
    if (this.#services === undefined) throw new Error("the turn has no services yet");
    return this.#services;
  }

  set services(services: HarnessExecutionServices) {
    this.#services = services;
  }

  /** The first thing that model and tool calls do: throws where the run may not go on. */
  check(): void {
    this.checkOpen();
    const { failure } = this.run;
    if (failure !== undefined) throw failure.cause instanceof HarnessBudgetError ? failure.cause : failure;
  }

  /** The first thing that every other operation does: throws where the turn is over, or should be. */
  checkOpen(): void {
    const { id, config } = this.run;
    if (id.deadline !== undefined && config.clock.now() >= id.deadline) {
      throw this.run.fail(new RunFailure(FailureReason.DEADLINE_EXCEEDED, "the deadline has passed"));
    }
    this.signal.throwIfAborted();
    if (this.#ended) throw new Error("the turn is over; its services do nothing more");
  }

  /** Throws where a context that a driver passes is another run's. */
  contextOf(given: RunContext | undefined): RunContext {
    if (given !== undefined && given.runId !== this.ctx.runId) {
      throw new TypeError(`the context is of the run ${given.runId}, not of ${this.ctx.runId}`);
    }
    return given ?? this.ctx;
  }

  /** Runs an operation that may end the run: what it ends it with is remembered. */
  async guard<T>(operation: () => Promise<T>): Promise<T> {
    try {
      return await operation();
    } catch (error) {
      if (error instanceof RunFailure) this.run.fail(error);
      throw error;
    }
  }

  /** Runs work that the run waits for; its failure is the run's. */
  own<T>(operation: () => Promise<T>): Promise<T> {
    const work = Promise.resolve().then(operation);
    work.catch((error: unknown) => {
      const reason = error instanceof RunFailure ? error.reason : FailureReason.PROVIDER_ERROR;
      if (!this.signal.aborted)
        this.run.fail(new RunFailure(reason, `owned work failed: ${messageOf(error)}`, { cause: error }));
    });
    return this.run.work.own(work);
  }

  /** What the context sources give for this turn's input; asked once. */
  retrieved(): Promise<ContextEntryMessages> {
    this.#retrieved ??= retrieveForTurn(this);
    return this.#retrieved;
  }

  end(): void {
    this.#ended = true;
  }
}
