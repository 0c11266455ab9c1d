import { create } from "@bufbuild/protobuf";
import { type Input, InputSchema, type Run } from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { supports } from "../../core/capability.js";
import type { Clock } from "../../core/clock.js";
import { isHarnessError } from "../../core/errors.js";
import type { ProviderContext, TurnOutcome } from "../../core/provider.js";
import type { Instance } from "./instance.js";
import { toRun } from "./turn-messages.js";

/** How long to wait before steers are asked for again that the store could not mark as consumed. */
const RETRY_MS = 1_000;

/** What a turn needs of its attempt. */
export interface TurnHost {
  readonly instance: Instance;
  readonly clock: Clock;
  /** Whether the instance said that it has this very turn: what was steered into it may not have arrived. */
  readonly isKnown: boolean;
}

/** One turn as the instance runs it: what was given to it is kept, to be given again over its next stream. */
export class RunningTurn {
  /** Resolves with the turn's outcome; rejects where the attempt is lost. */
  readonly ended = Promise.withResolvers<TurnOutcome>();
  readonly #host: TurnHost;
  readonly #inputs: Input[];
  #run: Run | undefined;
  /** `finished` once the instance said that it does no more for it. */
  #state: "running" | "interrupted" | "finished" = "running";

  constructor(
    readonly context: ProviderContext,
    host: TurnHost,
  ) {
    this.#host = host;
    this.#inputs = host.isKnown ? this.#inputsBefore() : [];
    this.ended.promise.catch(() => undefined);
  }

  /** Whether the instance was told of it. */
  get isGiven(): boolean {
    return this.#run !== undefined;
  }

  get isFinished(): boolean {
    return this.#state === "finished";
  }

  /** Gives it to the instance. The first turn of an attempt comes with what the attempt before left. */
  async give(isFirst: boolean): Promise<void> {
    this.#run = await toRun(this.context, isFirst);
    this.send();
  }

  /** Sends all that was given so far, where the instance has a stream and something to do for it. */
  send(): void {
    const { connection } = this.#host.instance;
    if (this.#run === undefined || this.isFinished || connection === undefined) return;
    connection.send({ case: "run", value: this.#run });
    for (const value of this.#inputs) connection.send({ case: "input", value });
    if (this.#state === "interrupted") this.#sendInterrupt();
  }

  /** Has the instance end it, since another input takes its place. */
  interrupt(): void {
    if (this.#state !== "running") return;
    this.#state = "interrupted";
    if (this.isGiven) this.#sendInterrupt();
  }

  finish(outcome: TurnOutcome): void {
    this.#state = "finished";
    this.ended.resolve(outcome);
  }

  /** Hands steers over as they come. One that was consumed stays in the turn's inputs until the instance has it. */
  async followSteers(): Promise<void> {
    const { instance, clock } = this.#host;
    if (!supports(instance.manifest, "input.steer")) return;
    try {
      for await (const steer of this.context.steers()) {
        const input = this.#toInput(steer.inputId ?? `steer-${this.#inputs.length + 1}`, steer);
        this.#inputs.push(input);
        instance.connection?.send({ case: "input", value: input });
      }
    } catch (error) {
      if (!isHarnessError(error, ErrorReason.STORE_UNAVAILABLE)) this.ended.reject(error);
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
