import type { Status } from "../../../gen/ts/google/rpc/status_pb.js";
import type { Cancelled, Emit, Finish, RequestAction } from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Clock } from "../../core/clock.js";
import { isHarnessError } from "../../core/errors.js";
import type { ProviderContext, ProviderEvent } from "../../core/provider.js";
import { ProtocolViolationError } from "../../core/violation.js";
import { type Flow, roughBytes } from "./flow.js";
import { InboxQueue } from "./inbox-queue.js";
import type { OutboxMessage } from "./outbox-message.js";
import { brokenRule } from "./rules.js";
import { toStatus } from "./status.js";

/** What an inbox does with what it takes. */
export interface InboxHost {
  /** Where events are appended; undefined between a restart of the runtime and the next turn. */
  context(): ProviderContext | undefined;
  /** Everything up to `emitId` was dealt with; that one was refused where there is a refusal. */
  ack(emitId: number, refusal: Status | undefined): void;
  /** Opens an action, or answers again; resolves with why it is refused. */
  ask(request: RequestAction, isRepeated: boolean): Promise<unknown>;
  /** A turn ended: `wait` until its outcome is stored, or it was stored before. */
  finish(finish: Finish): "wait" | "stored";
  cancelled(cancelled: Cancelled): void;
  /** The instance broke the protocol. */
  violate(message: string): void;
  /** The store says that the execution is another's. */
  fenced(error: Error): void;
}

/** What may wait while no turn is there to take it. */
const MAX_IDLE_BYTES = 1 << 20;
const LONGEST_RETRY_MS = 5_000;

/**
 * The other end of one attempt's outbox: takes each `emit_id` once and in order,
 * stores what came together in one write with its position, and acknowledges it.
 */
export class Inbox {
  readonly #host: InboxHost;
  readonly #clock: Clock;
  readonly #queue: InboxQueue;
  /** The last `emit_id` that is stored. */
  #stored: number;
  /** The last one that was taken. */
  #taken: number;
  #pumping = false;
  /** A turn's end is taken and its outcome not stored: what follows waits. */
  #finishing: number | undefined;
  #closed = false;
  #idle = Promise.resolve();

  constructor(host: InboxHost, clock: Clock, flow: Flow, stored: number) {
    this.#host = host;
    this.#clock = clock;
    this.#queue = new InboxQueue(flow);
    this.#stored = stored;
    this.#taken = stored;
  }

  /** The last `emit_id` that is stored: what the instance need not send again. */
  get stored(): number {
    return this.#stored;
  }

  /** The last `emit_id` that came. */
  get taken(): number {
    return this.#taken;
  }

  /** Takes a message, if it is the next one. */
  take(message: OutboxMessage): void {
    if (this.#closed) return;
    const { emitId } = message.value;
    if (emitId < 1) this.#refuseUnnumbered(emitId);
    else if (emitId <= this.#taken) this.#takeAgain(message);
    else if (emitId > this.#taken + 1) this.#host.violate(`emit_id ${emitId} came after ${this.#taken}`);
    else this.#takeNext(message);
  }

  /** Nothing up to `emitId` is needed any more. */
  skipTo(emitId: number): void {
    this.#taken = Math.max(this.#taken, emitId);
  }

  /** A turn is there to take what waits, behind the last turn's end where there was one: that is stored first. */
  async resume(): Promise<void> {
    const finished = this.#finishing;
    if (finished !== undefined) await this.#mark(finished);
    if (this.#finishing === finished) this.#finishing = undefined;
    await this.#pump();
  }

  /** Takes nothing more; resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#queue.clear();
    await this.#idle;
  }

  #refuseUnnumbered(emitId: number): void {
    const refusal = new ProtocolViolationError(`emit_id ${emitId} is no position: the first one is 1`);
    this.#host.violate(refusal.message);
    this.#host.ack(emitId, toStatus(refusal));
  }

  #takeAgain(message: OutboxMessage): void {
    const broken = brokenRule(message);
    if (broken !== undefined) this.#host.violate(broken);
    else if (message.case === "requestAction")
      this.#host.ask(message.value, true).catch((error) => this.#broken(error));
    if (message.value.emitId > this.#stored) return;
    // It has nothing of what it sent before: it never had the attempt, or has it no more.
    if (message.case === "cancelled" && broken === undefined) this.#host.cancelled(message.value);
    this.#host.ack(this.#stored, undefined);
  }

  #takeNext(message: OutboxMessage): void {
    if (this.#host.context() === undefined && this.#queue.bytes + roughBytes(message.value) > MAX_IDLE_BYTES) {
      this.#host.violate(`it sent more than ${MAX_IDLE_BYTES} bytes outside of a turn`);
      return;
    }
    this.#taken = message.value.emitId;
    this.#queue.push(message);
    void this.#pump();
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    const idle = Promise.withResolvers<void>();
    this.#idle = idle.promise;
    try {
      while (this.#mayGoOn()) await this.#next();
    } catch (error) {
      this.#broken(error);
    } finally {
      this.#pumping = false;
      idle.resolve();
    }
  }

  /** What cannot be read at all, such as a number that JSON has no form for, ends the attempt and nothing else. */
  #broken(error: unknown): void {
    this.#host.violate(error instanceof Error ? error.message : String(error));
  }

  #mayGoOn(): boolean {
    const isReady = this.#finishing === undefined && this.#host.context() !== undefined;
    return !this.#closed && isReady && !this.#queue.isEmpty;
  }

  async #next(): Promise<void> {
    const emits = this.#queue.leadingEmits();
    if (emits.length > 0) {
      await this.#store(emits);
      return;
    }
    const [first] = this.#queue.shift(1);
    const broken = first && brokenRule(first);
    if (broken !== undefined) {
      this.#host.violate(broken);
      await this.#settle(first?.value.emitId ?? 0, new ProtocolViolationError(broken));
      return;
    }
    if (first?.case === "requestAction") await this.#ask(first.value);
    if (first?.case === "finish") await this.#finish(first.value);
    if (first?.case === "cancelled") this.#host.cancelled(first.value);
  }

  /** Stores emits as one write; where that is refused, each alone, so that the right one is. */
  async #store(emits: readonly Emit[]): Promise<void> {
    const last = emits.at(-1);
    if (last === undefined) return;
    const refusal = await this.#write(emits, last.emitId);
    if (this.#closed) return;
    if (refusal !== undefined && emits.length > 1) {
      for (const emit of emits) await this.#store([emit]);
      return;
    }
    this.#queue.shift(emits.length);
    await this.#settle(last.emitId, refusal);
  }

  async #ask(request: RequestAction): Promise<void> {
    const refusal = await this.#host.ask(request, false);
    if (refusal === undefined) await this.#mark(request.emitId);
    else await this.#settle(request.emitId, refusal);
  }

  async #finish(finish: Finish): Promise<void> {
    if (this.#host.finish(finish) === "wait") this.#finishing = finish.emitId;
    else await this.#mark(finish.emitId);
  }

  /** Acknowledges a message; a refused one stays dealt with, also after a crash. */
  async #settle(emitId: number, refusal: unknown): Promise<void> {
    if (refusal !== undefined) await this.#write([], emitId);
    if (this.#closed) return;
    this.#stored = Math.max(this.#stored, emitId);
    this.#host.ack(emitId, refusal === undefined ? undefined : toStatus(refusal));
  }

  /** Stores a position that no event bears, and acknowledges it. */
  async #mark(emitId: number): Promise<void> {
    if (emitId <= this.#stored) return;
    await this.#write([], emitId);
    await this.#settle(emitId, undefined);
  }

  /** Writes until it is stored, or refused; returns the refusal. */
  async #write(emits: readonly Emit[], mark: number): Promise<unknown> {
    for (let pauseMs = 50; !this.#closed; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS)) {
      try {
        await this.#append(emits, mark);
        return undefined;
      } catch (error) {
        if (isHarnessError(error, ErrorReason.FENCED)) {
          this.#closed = true;
          this.#host.fenced(error);
        } else if (!isHarnessError(error, ErrorReason.STORE_UNAVAILABLE)) return error;
        else await new Promise<void>((resolve) => void this.#clock.after(pauseMs, resolve));
      }
    }
    return undefined;
  }

  async #append(emits: readonly Emit[], mark: number): Promise<void> {
    const events = emits.flatMap((emit) => emit.events.map(({ payload }) => payload as ProviderEvent));
    if (events.some((payload) => payload?.case === undefined)) {
      this.#host.violate("an event without a payload");
      throw new ProtocolViolationError("an event without a payload");
    }
    const resumeState = emits.findLast((emit) => emit.resumeState !== undefined)?.resumeState;
    await this.#host.context()?.emit(events, {
      mark,
      artifacts: emits.flatMap((emit) => emit.artifacts),
      ...(resumeState === undefined ? {} : { resumeState }),
    });
  }
}
