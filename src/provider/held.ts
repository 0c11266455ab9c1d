import { create } from "@bufbuild/protobuf";
import type { HeldExecution, Registered } from "../../gen/ts/harnessruntime/provider/v1/provider_pb.js";
import type { ConnectRequest, ConnectResponse } from "../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { RunSchema } from "../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Clock } from "../core/clock.js";
import { isHarnessError } from "../core/errors.js";
import type { Log } from "../core/provider.js";
import { TurnAbortedError } from "../core/turn-aborted.js";
import { Attempt, type AttemptHost } from "./attempt.js";
import type { RemoteProvider } from "./define-provider.js";
import { toRefusal } from "./messages.js";

/** Whom the attempts of an instance tell what happens. */
export interface HeldListener {
  /** There is something to send. */
  wake(): void;
  /** The last attempt is over. */
  emptied(): void;
}

/** The attempts that an instance has, over all its streams. */
export class Held implements AttemptHost {
  readonly #attempts = new Map<string, Attempt>();
  readonly #clock: Clock;
  readonly #listener: HeldListener;
  #graceMs = 0;
  #lastHeardMs = 0;
  #stopGrace: (() => void) | undefined;

  constructor(
    readonly provider: RemoteProvider,
    readonly log: Log,
    clock: Clock,
    listener: HeldListener,
  ) {
    this.#clock = clock;
    this.#listener = listener;
  }

  get size(): number {
    return this.#attempts.size;
  }

  /**
   * How long it may wait before it connects again, in milliseconds, so that its attempts are in no danger; nor one
   * that it was given just when the stream broke and has not heard of.
   */
  get longestPauseMs(): number {
    return this.#graceMs === 0 ? Number.POSITIVE_INFINITY : this.#graceMs / 5;
  }

  /** What a new stream says of them. */
  list(): Omit<HeldExecution, "$typeName" | "$unknown">[] {
    return Array.from(this.#attempts.values(), ({ executionId, attempt, outbox }) => ({
      executionId,
      attempt,
      lastEmitId: outbox.lastEmitId,
    }));
  }

  /** The runtime named those that are still ours: the others end, these send again what may be lost. */
  reconcile({ executions }: Registered, graceMs: number): void {
    this.#graceMs = graceMs;
    this.#stopGrace?.();
    const named = new Map(executions.map((held) => [held.executionId, held]));
    for (const attempt of [...this.#attempts.values()]) {
      const held = named.get(attempt.executionId);
      if (held?.attempt === attempt.attempt) attempt.outbox.reopen(held.lastEmitId);
      else attempt.drop(new TurnAbortedError("fenced", "the execution is no longer this instance's"));
    }
  }

  /** Something came from the runtime. */
  heard(): void {
    this.#lastHeardMs = this.#clock.now();
  }

  /** The stream broke: after the grace, counted from the last word, the attempts are lost. */
  disconnected(): void {
    this.#stopGrace?.();
    if (this.#graceMs === 0 || this.size === 0) return;
    const leftMs = Math.max(this.#lastHeardMs + this.#graceMs - this.#clock.now(), 0);
    this.#stopGrace = this.#clock.after(leftMs, () => {
      this.dropAll(new TurnAbortedError("fenced", "the runtime was away for longer than its grace"));
    });
  }

  /** Ends all of them. */
  dropAll(error: TurnAbortedError): void {
    this.#stopGrace?.();
    for (const attempt of [...this.#attempts.values()]) attempt.drop(error);
  }

  /** Returns the next message of any attempt, each in its turn; undefined where there is none. */
  next(): ConnectRequest["message"] | undefined {
    for (const [executionId, attempt] of this.#attempts) {
      const message = attempt.outbox.next();
      if (message === undefined) continue;
      this.#attempts.delete(executionId);
      this.#attempts.set(executionId, attempt);
      return message;
    }
    return undefined;
  }

  /** Takes one message of the runtime for an attempt. */
  receive(message: ConnectResponse["message"]): void {
    switch (message.case) {
      case "run": {
        const { value } = message;
        this.#attemptFor(value.execution?.id ?? "", value.attempt, () => new Attempt(this, value))?.run(value);
        break;
      }
      case "input":
        this.#find(message.value)?.input(message.value);
        break;
      case "actionAnswer":
        this.#find(message.value)?.answer(message.value);
        break;
      case "cancel": {
        const { executionId, attempt } = message.value;
        // What it never had, or has no more, is confirmed as well; and a `run` that comes behind it begins nothing.
        const unheardOf = create(RunSchema, { execution: { id: executionId }, attempt });
        this.#attemptFor(executionId, attempt, () => new Attempt(this, unheardOf))?.cancel(message.value);
        break;
      }
      case "ack": {
        const refusal = message.value.error === undefined ? undefined : toRefusal(message.value.error);
        const attempt = this.#find(message.value);
        if (refusal !== undefined) attempt?.warn(`the runtime refused a message: ${refusal.message}`);
        if (isHarnessError(refusal, ErrorReason.FENCED)) attempt?.drop(new TurnAbortedError("fenced", refusal.message));
        else attempt?.ack(message.value.emitId, refusal);
        break;
      }
      default:
    }
  }

  wake(): void {
    this.#listener.wake();
  }

  ended(attempt: Attempt): void {
    if (this.#attempts.get(attempt.executionId) === attempt) this.#attempts.delete(attempt.executionId);
    if (this.size === 0) this.#listener.emptied();
  }

  #find({ executionId, attempt }: { readonly executionId: string; readonly attempt: number }): Attempt | undefined {
    const found = this.#attempts.get(executionId);
    return found?.attempt === attempt ? found : undefined;
  }

  /** Returns the attempt, new where it is later than the one there is; an earlier one is none of ours. */
  #attemptFor(executionId: string, attempt: number, make: () => Attempt): Attempt | undefined {
    const found = this.#attempts.get(executionId);
    if (found !== undefined && found.attempt >= attempt) return found.attempt === attempt ? found : undefined;
    found?.drop(new TurnAbortedError("fenced", "a later attempt took its place"));
    const made = make();
    this.#attempts.set(executionId, made);
    return made;
  }
}
