import type { ConnectRequest } from "../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";

/** The messages of an outbox: those that bear an `emit_id`. */
export type OutboxMessage = Extract<
  ConnectRequest["message"],
  { case: "emit" | "requestAction" | "finish" | "cancelled" }
>;

interface Entry {
  readonly emitId: number;
  readonly message: OutboxMessage;
  readonly settle: PromiseWithResolvers<void>;
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
  add(make: (emitId: number) => OutboxMessage): Promise<void> {
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
    const entry = { emitId, message, settle, stored: false, kept: message.case === "requestAction" };
    this.#entries.push(entry);
    this.#unsent.push(entry);
    return settle.promise;
  }

  /** Returns the next message that the current stream was not given; undefined where it has them all. */
  next(): OutboxMessage | undefined {
    return this.#unsent.shift()?.message;
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
