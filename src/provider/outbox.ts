import type { ConnectRequest } from "../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";

/** The messages of an outbox: those that bear an `emit_id`. */
export type OutboxMessage = Extract<
  ConnectRequest["message"],
  { case: "emit" | "requestAction" | "finish" | "cancelled" }
>;

/** Events that wait together to be sent are joined in one message of so many bytes. */
const MAX_JOINED_BYTES = 64 << 10;

interface Entry {
  readonly emitId: number;
  readonly message: OutboxMessage;
  readonly settle: PromiseWithResolvers<void>;
  /** Of its events, encoded. */
  sizeBytes: number;
  stored: boolean;
  /** Kept, and sent again after a reconnect, although it is stored: a question without its answer. */
  kept: boolean;
}

/**
 * What one attempt sends, in order, until the runtime has it. A message is sent
 * once a stream; after a reconnect all that may be lost is sent again.
 */
export class Outbox {
  #lastEmitId = 0;
  #entries: Entry[] = [];
  /** Those that the current stream was not given. */
  #unsent: Entry[] = [];
  /** The last one that any stream was given: from then on it stays as it is. */
  #sentEmitId = 0;
  #closed: Error | undefined;

  /** The last `emit_id` given out; 0 where there was none. */
  get lastEmitId(): number {
    return this.#lastEmitId;
  }

  /** Whether anything waits to be acknowledged or answered. */
  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Adds a message; resolves once it is stored and rejects where it is refused or the attempt is over. */
  add(make: (emitId: number) => OutboxMessage, sizeBytes = 0): Promise<void> {
    const settle = Promise.withResolvers<void>();
    // Who does not wait for it learns of a refusal from what the runtime then does.
    settle.promise.catch(() => undefined);
    if (this.#closed !== undefined) {
      settle.reject(this.#closed);
      return settle.promise;
    }
    const emitId = this.#lastEmitId + 1;
    const message = make(emitId);
    this.#lastEmitId = emitId;
    const entry = { emitId, message, settle, sizeBytes, stored: false, kept: message.case === "requestAction" };
    this.#entries.push(entry);
    this.#unsent.push(entry);
    return settle.promise;
  }

  /**
   * Adds events to the last message where no stream was given it yet: they are then
   * stored, or refused, as one. Undefined where they need a message of their own.
   */
  join(events: readonly Event[], sizeBytes: number, resumeState: Uint8Array | undefined): Promise<void> | undefined {
    const last = this.#unsent.at(-1);
    if (last?.message.case !== "emit" || last.emitId <= this.#sentEmitId) return undefined;
    const emit = last.message.value;
    if (emit.artifacts.length > 0 || last.sizeBytes + sizeBytes > MAX_JOINED_BYTES) return undefined;
    last.sizeBytes += sizeBytes;
    emit.events.push(...events);
    if (resumeState !== undefined) emit.resumeState = Uint8Array.from(resumeState);
    return last.settle.promise;
  }

  /** Returns the next message that the current stream was not given; undefined where it has them all. */
  next(): OutboxMessage | undefined {
    const next = this.#unsent.shift();
    this.#sentEmitId = Math.max(this.#sentEmitId, next?.emitId ?? 0);
    return next?.message;
  }

  /** A new stream was opened: what is up to `storedEmitId` is stored, all else is sent again. */
  reopen(storedEmitId: number): void {
    this.ack(storedEmitId, undefined);
    this.#unsent = [...this.#entries];
  }

  /** Everything up to `emitId` was dealt with; that one itself was refused where there is an error. */
  ack(emitId: number, refusal: Error | undefined): void {
    for (const entry of this.#entries) {
      if (entry.emitId > emitId) break;
      entry.stored = true;
      if (entry.emitId === emitId && refusal !== undefined) {
        entry.kept = false;
        entry.settle.reject(refusal);
      } else entry.settle.resolve();
    }
    this.#drop();
  }

  /** The question asked with `key` has its answer. */
  answered(key: string): void {
    for (const entry of this.#entries) {
      const { message } = entry;
      if (message.case === "requestAction" && message.value.key === key) entry.kept = false;
    }
    this.#drop();
  }

  /** Sends nothing more; what waits is rejected. */
  close(error: Error): void {
    this.#closed ??= error;
    for (const { settle } of this.#entries) settle.reject(this.#closed);
    this.#entries = [];
    this.#unsent = [];
  }

  #drop(): void {
    this.#entries = this.#entries.filter(({ stored, kept }) => !stored || kept);
  }
}
