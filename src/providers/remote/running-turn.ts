import { create, toBinary } from "@bufbuild/protobuf";
import { type Input, InputSchema, type Run, RunSchema } from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { supports } from "../../core/capability.js";
import type { Clock } from "../../core/clock.js";
import { isHarnessError } from "../../core/errors.js";
import type { ProviderContext, TurnOutcome } from "../../core/provider.js";
import { MAX_RESPONSE_BYTES } from "./connection.js";
import type { Instance } from "./instance.js";
import { KeptInputs } from "./kept-inputs.js";
import { toRun } from "./turn-messages.js";

/** How long to wait before steers are asked for again that the store could not mark as consumed. */
const RETRY_MS = 1_000;
/** The largest turn, in bytes: its message has a few more. */
const MAX_RUN_BYTES = MAX_RESPONSE_BYTES - 1024;

/** What a turn needs of its attempt. */
export interface TurnHost {
  readonly instance: Instance;
  readonly clock: Clock;
  /** Whether the instance said that it has this very turn: what was steered into it may not have arrived. */
  readonly isKnown: boolean;
}

/** One turn as the instance runs it: what was given to it is kept, to be given again over its next stream. */
export class RunningTurn {
  readonly #ended = Promise.withResolvers<TurnOutcome>();
  readonly #host: TurnHost;
  readonly #inputs: KeptInputs;
  #run: Run | undefined;
  /** `finished` once the instance said that it does no more for it. */
  #state: "running" | "interrupted" | "finished" = "running";
  /** Whether the runtime waits for its outcome no more. */
  #isOver = false;

  constructor(
    readonly context: ProviderContext,
    host: TurnHost,
  ) {
    this.#host = host;
    this.#inputs = new KeptInputs(host.isKnown ? this.#inputsBefore() : []);
    this.#ended.promise.catch(() => undefined);
  }

  /** Resolves with how it ended; rejects where the attempt is lost. */
  get outcome(): Promise<TurnOutcome> {
    return this.#ended.promise;
  }

  /** Whether the instance was told of it. */
  get isGiven(): boolean {
    return this.#run !== undefined;
  }

  /** Whether the instance may be at work on it. */
  get mayRun(): boolean {
    return (this.isGiven || this.#host.isKnown) && this.#state !== "finished";
  }

  /**
   * Gives it to the instance; returns whether it did, for it may have to end first. The first turn of an attempt
   * comes with the conversation's history and what the attempt before left.
   */
  async give(isFirst: boolean): Promise<boolean> {
    const reading = isFirst ? this.context.history() : Promise.resolve([]);
    reading.catch(() => undefined);
    const history = await Promise.race([reading, this.outcome.then(() => [])]);
    if (this.#isOver) return false;
    const run = toRun(this.context, history);
    const { length } = toBinary(RunSchema, run);
    if (length > MAX_RUN_BYTES) {
      const message = `the turn is ${length} bytes with all that belongs to it, and a provider takes ${MAX_RUN_BYTES}`;
      this.end({ status: "failed", message });
      return false;
    }
    this.#run = run;
    this.send();
    return true;
  }

  /** Sends all that was given so far, where the instance has a stream and something to do for it. */
  send(): void {
    const { connection } = this.#host.instance;
    if (this.#run === undefined || this.#state === "finished" || connection === undefined) return;
    connection.send({ case: "run", value: this.#run });
    for (const value of this.#inputs.all()) connection.send({ case: "input", value });
    if (this.#state === "interrupted") this.#sendInterrupt();
  }

  /** Has the instance end it, since another input takes its place. */
  interrupt(): void {
    if (this.#state !== "running") return;
    this.#state = "interrupted";
    if (this.isGiven) this.#sendInterrupt();
  }

  /** The instance does no more for it. */
  finish(outcome: TurnOutcome): void {
    this.#state = "finished";
    this.end(outcome);
  }

  /** Ends it for the runtime: an instance that was not told of it never is. */
  end(outcome: TurnOutcome): void {
    this.#isOver = true;
    this.#ended.resolve(outcome);
  }

  /** Ends it with an error. */
  fail(error: Error): void {
    this.#isOver = true;
    this.#ended.reject(error);
  }

  /** Hands steers over as they come. One that was consumed stays in the turn's inputs until the instance has it. */
  async followSteers(): Promise<void> {
    const { instance, clock } = this.#host;
    if (!supports(instance.manifest, "input.steer")) return;
    try {
      for await (const steer of this.context.steers()) {
        const input = this.#toInput(steer.inputId ?? crypto.randomUUID(), steer);
        this.#inputs.add(input);
        instance.connection?.send({ case: "input", value: input });
      }
    } catch (error) {
      if (!isHarnessError(error, ErrorReason.STORE_UNAVAILABLE)) this.fail(error as Error);
      else clock.after(RETRY_MS, () => void this.followSteers());
    }
  }

  #sendInterrupt(): void {
    const { execution, attempt, turn } = this.context;
    const value = { executionId: execution.id, attempt, turn, mode: InputMode.REPLACE };
    this.#host.instance.connection?.send({ case: "input", value });
  }

  /** The steers of a turn that goes on after a restart of the runtime. */
  #inputsBefore(): Input[] {
    return (this.context.resume?.inputs ?? []).map(({ inputId, content }) => this.#toInput(inputId, content));
  }

  #toInput(inputId: string, input: NonNullable<Input["input"]>): Input {
    const { execution, attempt, turn } = this.context;
    return create(InputSchema, { executionId: execution.id, attempt, turn, inputId, mode: InputMode.STEER, input });
  }
}
