import { create } from "@bufbuild/protobuf";
import type { Status } from "../../../gen/ts/google/rpc/status_pb.js";
import type { HeldExecution } from "../../../gen/ts/harnessruntime/provider/v1/provider_pb.js";
import {
  type ActionAnswer as AnswerMessage,
  type Cancelled,
  type Finish,
  type Input,
  InputSchema,
  type RequestAction,
  type Run,
} from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { supports } from "../../core/capability.js";
import type { Clock } from "../../core/clock.js";
import { isHarnessError } from "../../core/errors.js";
import type { CleanupReport, ProviderContext, TurnOutcome } from "../../core/provider.js";
import { ProviderLostError } from "../../core/provider-lost.js";
import { abortCause } from "../../core/turn-aborted.js";
import { Inbox, type InboxHost } from "./inbox.js";
import type { Instance } from "./instance.js";
import type { OutboxMessage } from "./outbox-message.js";
import { type Asker, Questions } from "./questions.js";
import { fenced } from "./status.js";
import { toRun, toTurnOutcome, violation } from "./turn-messages.js";

const RETRY_MS = 1_000;

/** One turn as the instance runs it. */
interface RunningTurn {
  readonly context: ProviderContext;
  readonly ended: PromiseWithResolvers<TurnOutcome>;
  /** What was given to it, to be given again where it may not have arrived. */
  readonly inputs: Input[];
  run: Run | undefined;
  /** `finished` once the instance said that it does no more for it. */
  state: "running" | "interrupted" | "finished";
}

interface Cancelling {
  readonly reason: string;
  readonly confirmed: PromiseWithResolvers<CleanupReport>;
}

/** Where an attempt is placed. */
export interface AttemptOptions {
  readonly executionId: string;
  readonly attempt: number;
  readonly instance: Instance;
  readonly clock: Clock;
  /** The last position that is stored: 0 for a new attempt. */
  readonly stored: number;
  /** The turn in which the instance said that it has it; unset where it was not asked. */
  readonly knownTurn: number | undefined;
  /** The runtime restarted in CANCELLING: it only waits to hear that the work has stopped. */
  readonly isEnding: boolean;
}

/** One attempt of one execution on one instance: between the runtime's port and the wire. */
export class RemoteAttempt implements InboxHost, Asker {
  readonly executionId: string;
  readonly attempt: number;
  readonly instance: Instance;
  readonly #clock: Clock;
  readonly #inbox: Inbox;
  readonly #isEnding: boolean;
  readonly #questions = new Questions(this);
  readonly #knownTurn: number | undefined;
  #turn: RunningTurn | undefined;
  #cancelling: Cancelling | undefined;
  #wasHeard: boolean;
  #violation: TurnOutcome | undefined;
  /** `released`: another runtime goes on with it, so nothing more is said for it. */
  #phase: "live" | "released" | "lost" | "over" = "live";

  constructor({ executionId, attempt, instance, clock, stored, knownTurn, isEnding }: AttemptOptions) {
    this.executionId = executionId;
    this.attempt = attempt;
    this.instance = instance;
    this.#clock = clock;
    this.#isEnding = isEnding;
    this.#knownTurn = knownTurn;
    this.#wasHeard = knownTurn !== undefined;
    this.#inbox = new Inbox(this, clock, instance.flow, stored);
  }

  /** As `registered` names it. */
  get held(): Omit<HeldExecution, "$typeName" | "$unknown"> {
    return { executionId: this.executionId, attempt: this.attempt, lastEmitId: this.#inbox.stored };
  }

  /** Whether the instance may never have heard of it. */
  get mayBeUnknown(): boolean {
    return !this.#wasHeard;
  }

  get isLost(): boolean {
    return this.#phase === "lost";
  }

  /** Whether another runtime goes on with it. */
  get isReleased(): boolean {
    return this.#phase === "released";
  }

  /** Runs one turn and resolves with its outcome. */
  async run(context: ProviderContext): Promise<TurnOutcome> {
    if (context.signal.aborted) return { status: "cancelled" };
    if (this.#violation !== undefined) return this.#violation;
    const ended = Promise.withResolvers<TurnOutcome>();
    ended.promise.catch(() => undefined);
    const isFirst = this.#turn === undefined && this.#knownTurn === undefined;
    const turn: RunningTurn = {
      context,
      ended,
      inputs: context.turn === this.#knownTurn ? inputsOf(context) : [],
      run: undefined,
      state: "running",
    };
    this.#turn = turn;
    const onAbort = (): void => this.#aborted(turn);
    context.signal.addEventListener("abort", onAbort, { once: true });
    try {
      turn.run = await toRun(context, isFirst);
      this.#sendTurn(turn);
      for (const request of this.#questions.takeEarly()) this.#inbox.take({ case: "requestAction", value: request });
      void this.#inbox.resume();
      void this.#followSteers(turn);
      return await ended.promise;
    } finally {
      context.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Has the instance end its work, and resolves when it said so, or with what is known after `limitMs`. */
  async cancel(context: ProviderContext, reason: string, limitMs: number): Promise<CleanupReport | undefined> {
    const why = abortCause(context.signal);
    if (why === "released" || why === "fenced") {
      this.#leave(why);
      return undefined;
    }
    const turn = this.#turn;
    if (turn === undefined || turn.state === "finished" || this.#phase !== "live") return undefined;
    try {
      return await this.confirmCancelled(reason, limitMs);
    } finally {
      turn.ended.resolve({ status: "cancelled" });
    }
  }

  /** Sends `cancel` and waits for `cancelled`. */
  async confirmCancelled(reason: string, limitMs: number): Promise<CleanupReport> {
    const confirmed = Promise.withResolvers<CleanupReport>();
    this.#cancelling = { reason, confirmed };
    this.#sendCancel(reason);
    const error = `instance ${this.instance.id} did not confirm within ${limitMs} ms that the work has stopped`;
    const disarm = this.#clock.after(limitMs, () => confirmed.resolve({ error }));
    const report = await confirmed.promise;
    disarm();
    return report;
  }

  /** Ends it: everything that it sent is dealt with. */
  async dispose(): Promise<void> {
    if (this.#phase === "live") {
      this.#phase = "over";
      this.instance.connection?.ack(this.executionId, this.attempt, this.#inbox.taken, undefined);
    }
    await this.#inbox.close();
  }

  /** The instance is gone for good, or no longer has it. */
  async lost(message: string): Promise<void> {
    if (this.#phase !== "live") return;
    this.#phase = "lost";
    await this.#inbox.close();
    this.#cancelling?.confirmed.resolve({ error: message });
    this.#turn?.ended.reject(new ProviderLostError(message));
  }

  /** Takes a message of its outbox. */
  receive(message: OutboxMessage): void {
    this.#wasHeard = true;
    if (this.#isEnding) {
      if (message.case === "cancelled") this.cancelled(message.value);
    } else if (this.#phase === "live") this.#inbox.take(message);
  }

  /** A new stream of the instance: what may not have arrived over the last one is sent again. */
  resend(): void {
    const turn = this.#turn;
    if (turn !== undefined && turn.state !== "finished") this.#sendTurn(turn);
    if (this.#cancelling !== undefined) this.#sendCancel(this.#cancelling.reason);
  }

  context(): ProviderContext | undefined {
    return this.#turn?.run === undefined ? undefined : this.#turn.context;
  }

  ack(emitId: number, refusal: Status | undefined): void {
    this.instance.connection?.ack(this.executionId, this.attempt, emitId, refusal);
  }

  ask(request: RequestAction, isRepeated: boolean): Promise<unknown> {
    return this.#questions.ask(request, isRepeated);
  }

  answer(value: AnswerMessage): void {
    if (this.#phase === "live") this.instance.connection?.send({ case: "actionAnswer", value });
  }

  finish({ turn: number, outcome }: Finish): "wait" | "stored" {
    const turn = this.#turn;
    if (turn === undefined || number < turn.context.turn) return "stored";
    if (number > turn.context.turn) {
      this.violate(`it finished turn ${number} in turn ${turn.context.turn}`);
      return "wait";
    }
    const ended = toTurnOutcome(outcome, this.instance.manifest);
    turn.state = "finished";
    turn.ended.resolve(ended);
    return this.#cancelling === undefined ? "wait" : "stored";
  }

  cancelled({ cleanupError, containment }: Cancelled): void {
    const report = { error: cleanupError, ...(containment === undefined ? {} : { containment }) };
    if (this.#turn !== undefined) this.#turn.state = "finished";
    this.#turn?.ended.resolve({ status: "cancelled" });
    this.#cancelling?.confirmed.resolve(report);
  }

  violate(message: string): void {
    this.#violation ??= violation(`the provider broke the protocol: ${message}`);
    this.#turn?.ended.resolve(this.#violation);
  }

  fenced(error: Error): void {
    this.#turn?.ended.reject(error);
  }

  #sendTurn(turn: RunningTurn): void {
    const { connection } = this.instance;
    if (turn.run === undefined || connection === undefined) return;
    connection.send({ case: "run", value: turn.run });
    for (const value of turn.inputs) connection.send({ case: "input", value });
    if (turn.state === "interrupted") this.#sendInterrupt(turn);
  }

  #sendInterrupt({ context }: RunningTurn): void {
    const { executionId, attempt } = this;
    const value = { executionId, attempt, turn: context.turn, mode: InputMode.REPLACE };
    this.instance.connection?.send({ case: "input", value });
  }

  #sendCancel(reason: string): void {
    const { executionId, attempt } = this;
    this.instance.connection?.send({ case: "cancel", value: { executionId, attempt, reason } });
  }

  #aborted(turn: RunningTurn): void {
    const why = abortCause(turn.context.signal);
    if (why === "released" || why === "fenced") this.#leave(why);
    if (why !== "replaced" || turn.state !== "running") return;
    turn.state = "interrupted";
    if (turn.run !== undefined) this.#sendInterrupt(turn);
  }

  /** Lets go of it: the instance goes on for another runtime, or has to stop. */
  #leave(why: "released" | "fenced"): void {
    if (this.#phase !== "live") return;
    this.#phase = "released";
    if (why === "fenced") this.ack(this.#inbox.taken, fenced(this.executionId, this.attempt));
    this.#turn?.ended.resolve({ status: "cancelled" });
  }

  /** Hands steers over as they come. One that was consumed stays in the turn's inputs until the instance has it. */
  async #followSteers(turn: RunningTurn): Promise<void> {
    if (!supports(this.instance.manifest, "input.steer")) return;
    const { executionId, attempt } = this;
    try {
      for await (const steer of turn.context.steers()) {
        const input = create(InputSchema, {
          executionId,
          attempt,
          turn: turn.context.turn,
          inputId: steer.inputId ?? `steer-${turn.inputs.length + 1}`,
          mode: InputMode.STEER,
          input: steer,
        });
        turn.inputs.push(input);
        this.instance.connection?.send({ case: "input", value: input });
      }
    } catch (error) {
      if (!isHarnessError(error, ErrorReason.STORE_UNAVAILABLE)) turn.ended.reject(error);
      else this.#clock.after(RETRY_MS, () => void this.#followSteers(turn));
    }
  }
}

/** The steers of a turn that goes on after a restart of the runtime: they may not have arrived. */
function inputsOf({ execution, attempt, turn, resume }: ProviderContext): Input[] {
  return (resume?.inputs ?? []).map(({ inputId, content }) =>
    create(InputSchema, { executionId: execution.id, attempt, turn, inputId, mode: InputMode.STEER, input: content }),
  );
}
