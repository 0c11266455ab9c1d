import type { Status } from "../../../gen/ts/google/rpc/status_pb.js";
import type { HeldExecution } from "../../../gen/ts/harnessruntime/provider/v1/provider_pb.js";
import type {
  ActionAnswer as AnswerMessage,
  Cancelled,
  Finish,
  RequestAction,
} from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import type { Clock } from "../../core/clock.js";
import type { CleanupReport, ProviderContext, TurnOutcome } from "../../core/provider.js";
import { ProviderLostError } from "../../core/provider-lost.js";
import { abortCause, type HaltCause } from "../../core/turn-aborted.js";
import { Inbox, type InboxHost } from "./inbox.js";
import type { Instance } from "./instance.js";
import type { OutboxMessage } from "./outbox-message.js";
import { type Asker, Questions } from "./questions.js";
import { RunningTurn } from "./running-turn.js";
import { fenced } from "./status.js";
import { toTurnOutcome, violation } from "./turn-messages.js";

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
}

/** One attempt of one execution on one instance: between the runtime's port and the wire. */
export class RemoteAttempt implements InboxHost, Asker {
  readonly executionId: string;
  readonly attempt: number;
  readonly instance: Instance;
  readonly #clock: Clock;
  readonly #inbox: Inbox;
  readonly #questions = new Questions(this);
  readonly #knownTurn: number | undefined;
  #turn: RunningTurn | undefined;
  #cancelling: Cancelling | undefined;
  /** Its work only has to stop: there is no turn to take what else it sends. */
  #isStopping = false;
  #wasHeard: boolean;
  #violation: TurnOutcome | undefined;
  /** `released`: the next start of the runtime goes on with it, so nothing more is said for it. */
  #phase: "live" | "released" | "fenced" | "lost" | "over" = "live";

  constructor({ executionId, attempt, instance, clock, stored, knownTurn }: AttemptOptions) {
    this.executionId = executionId;
    this.attempt = attempt;
    this.instance = instance;
    this.#clock = clock;
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

  /** Whether the runtime runs or ends it; one that was placed after a restart may never be. */
  get isTaken(): boolean {
    return this.#turn !== undefined || this.#cancelling !== undefined;
  }

  get isLive(): boolean {
    return this.#phase === "live";
  }

  get isLost(): boolean {
    return this.#phase === "lost";
  }

  /** Whether the next start of the runtime goes on with it. */
  get isReleased(): boolean {
    return this.#phase === "released";
  }

  /** Runs one turn and resolves with its outcome. */
  async run(context: ProviderContext): Promise<TurnOutcome> {
    if (context.signal.aborted) return { status: "cancelled" };
    if (this.#violation !== undefined) return this.#violation;
    const isFirst = this.#turn === undefined && this.#knownTurn === undefined;
    const isKnown = context.turn === this.#knownTurn;
    const turn = new RunningTurn(context, { instance: this.instance, clock: this.#clock, isKnown });
    this.#turn = turn;
    const onAbort = (): void => this.#aborted(turn);
    context.signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (await turn.give(isFirst)) this.#goOn(turn);
      return await turn.outcome;
    } finally {
      context.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Has the instance end its work, and resolves when it said so, or with what is known after `limitMs`. */
  async cancel(reason: string, why: HaltCause, limitMs: number): Promise<CleanupReport | undefined> {
    const turn = this.#turn;
    if (why === "released" || why === "fenced") this.#leave(why);
    // What the instance was not told of by now it is never told.
    if (turn?.isGiven === false) turn.end({ status: "cancelled" });
    try {
      return this.isLive && this.#mayWork ? await this.confirmCancelled(reason, limitMs) : undefined;
    } finally {
      turn?.end({ status: "cancelled" });
    }
  }

  /** Sends `cancel` and waits for `cancelled`. */
  async confirmCancelled(reason: string, limitMs: number): Promise<CleanupReport> {
    const confirmed = Promise.withResolvers<CleanupReport>();
    this.#isStopping = this.context() === undefined;
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
    if (this.isLive) {
      this.#phase = "over";
      this.ack(this.#inbox.taken, undefined);
    }
    await this.#inbox.close();
  }

  /** The instance is gone for good, or no longer has it. */
  async lost(message: string): Promise<void> {
    if (!this.isLive) return;
    this.#phase = "lost";
    await this.#inbox.close();
    this.#cancelling?.confirmed.resolve({ error: message });
    this.#turn?.fail(new ProviderLostError(message));
  }

  /** Takes a message of its outbox. */
  receive(message: OutboxMessage): void {
    this.#wasHeard = true;
    if (this.#isStopping) {
      this.#inbox.skipTo(message.value.emitId);
      if (message.case === "cancelled") this.cancelled(message.value);
    } else if (this.isLive) this.#inbox.take(message);
  }

  /** A new stream of the instance: what may not have arrived over the last one is sent again, but no work that has to stop. */
  resend(): void {
    if (this.#cancelling === undefined) this.#turn?.send();
    else this.#sendCancel(this.#cancelling.reason);
  }

  context(): ProviderContext | undefined {
    return this.#turn?.isGiven ? this.#turn.context : undefined;
  }

  ack(emitId: number, refusal: Status | undefined): void {
    this.instance.connection?.ack(this.executionId, this.attempt, emitId, refusal);
  }

  ask(request: RequestAction, isRepeated: boolean): Promise<unknown> {
    return this.#questions.ask(request, isRepeated);
  }

  answer(value: AnswerMessage): void {
    if (this.isLive) this.instance.connection?.send({ case: "actionAnswer", value });
  }

  finish({ turn: number, outcome }: Finish): "wait" | "stored" {
    const turn = this.#turn;
    if (turn === undefined || number < turn.context.turn) return "stored";
    if (number > turn.context.turn) {
      this.violate(`it finished turn ${number} in turn ${turn.context.turn}`);
      return "wait";
    }
    turn.finish(toTurnOutcome(outcome));
    return this.#cancelling === undefined ? "wait" : "stored";
  }

  cancelled({ cleanupError, containment }: Cancelled): void {
    const report = { error: cleanupError, ...(containment === undefined ? {} : { containment }) };
    this.#turn?.finish({ status: "cancelled" });
    this.#cancelling?.confirmed.resolve(report);
  }

  violate(message: string): void {
    this.#violation ??= violation(`the provider broke the protocol: ${message}`);
    this.#turn?.end(this.#violation);
  }

  /** Has the instance stop its work: the runtime goes on without it. */
  fence(): void {
    this.#leave("fenced");
  }

  fenced(error: Error): void {
    this.#turn?.fail(error);
  }

  /** Whether the instance may have work to stop: a turn that it was given, or one that it had before the runtime restarted. */
  get #mayWork(): boolean {
    return this.#turn === undefined ? this.#knownTurn !== undefined : this.#turn.mayRun;
  }

  /** A turn was given: what came before it is taken. */
  #goOn(turn: RunningTurn): void {
    for (const request of this.#questions.takeEarly()) this.#inbox.take({ case: "requestAction", value: request });
    void this.#inbox.resume();
    void turn.followSteers();
  }

  #sendCancel(reason: string): void {
    const { executionId, attempt } = this;
    this.instance.connection?.send({ case: "cancel", value: { executionId, attempt, reason } });
  }

  #aborted(turn: RunningTurn): void {
    const why = abortCause(turn.context.signal);
    if (why === "released" || why === "fenced") this.#leave(why);
    if (why === "replaced") turn.interrupt();
  }

  /** Lets go of it: the instance goes on for the next start of the runtime, or has to stop. */
  #leave(why: "released" | "fenced"): void {
    if (!this.isLive) return;
    this.#phase = why;
    if (why === "fenced") this.ack(this.#inbox.taken, fenced(this.executionId, this.attempt));
    this.#turn?.end({ status: "cancelled" });
  }
}
