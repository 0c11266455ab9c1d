import { setImmediate, setTimeout } from "node:timers";
import type { HarnessError } from "../../core/errors.js";
import { IdempotencyTakenError } from "../../core/store.js";
import { alreadyThere, fenced, sequenceConflict } from "../refusals.js";
import type { NumberedOutcome, Operation, Outcome, Refusal, WriterReply, WriterRequest } from "./messages.js";
import { packOperations } from "./pack.js";
import { fileError, type ThreadLink } from "./thread-link.js";

/** From so many operations a second on, a window may hold them back. */
const BUSY_PER_SECOND = 200;

interface Pending {
  readonly operation: Operation;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends operations to the writer in the order of the calls: all of one turn of
 * the event loop in one message, and what arrives while a commit runs goes into
 * the next. There is no timer but for the window, which holds operations back
 * while many are coming, so that they share a commit.
 */
export class WriteQueue {
  readonly #link: ThreadLink<WriterRequest, WriterReply>;
  readonly #file: string;
  readonly #windowMs: number;
  readonly #onCheckpoint: () => void;
  #gathering: Pending[] = [];
  /** Sent and not committed, oldest first, by batch. */
  readonly #sent = new Map<number, Pending[]>();
  #batch = 0;
  #isDue = false;
  #lost: HarnessError | undefined;
  /** When the last but so many operations came, to tell how many are coming. */
  #countSince = 0;
  #count = 0;
  #isBusy = false;
  #onIdle: (() => void) | undefined;

  constructor(
    link: ThreadLink<WriterRequest, WriterReply>,
    file: string,
    windowMs: number,
    /** Called when the reader should write the log back. */
    onCheckpoint: () => void,
  ) {
    this.#link = link;
    this.#file = file;
    this.#windowMs = windowMs;
    this.#onCheckpoint = onCheckpoint;
    link.listen(
      (reply) => this.#receive(reply),
      (error) => this.#lose(error),
    );
  }

  /** Has the writer do `operation`; resolves to what it came to once it is committed. */
  submit(operation: Operation): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) {
        reject(this.#lost);
        return;
      }
      this.#gathering.push({ operation, resolve, reject });
      if (this.#isDue) return;
      this.#isDue = true;
      if (this.#windowMs > 0 && this.#isBusyNow()) setTimeout(() => this.#send(), this.#windowMs);
      else setImmediate(() => this.#send());
    });
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    if (this.#lost !== undefined || (this.#gathering.length === 0 && this.#sent.size === 0)) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #send(): void {
    this.#isDue = false;
    const pending = this.#gathering;
    this.#gathering = [];
    if (pending.length === 0 || this.#lost !== undefined) return;
    this.#count += pending.length;
    try {
      const { operations, buffers } = packOperations(pending.map(({ operation }) => operation));
      this.#link.send({ kind: "batch", batch: ++this.#batch, operations }, buffers);
    } catch (error) {
      for (const { reject } of pending) reject(error);
      this.#tellIdle();
      return;
    }
    this.#link.owe();
    this.#sent.set(this.#batch, pending);
  }

  #receive(reply: WriterReply): void {
    if (reply.kind === "checkpoint") this.#onCheckpoint();
    else if (reply.kind === "committed") this.#settle(reply.batch, reply.outcomes);
  }

  /** Settles all batches up to `last`. */
  #settle(last: number, outcomes: readonly NumberedOutcome[]): void {
    const told = new Map(outcomes);
    for (const [number, call] of this.#takeSent(last).entries()) this.#settleCall(call, told.get(number));
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#gathering.length === 0 && this.#sent.size === 0) this.#onIdle?.();
  }

  #takeSent(last: number): Pending[] {
    const taken: Pending[][] = [];
    for (const [batch, pending] of this.#sent) {
      if (batch > last) break;
      this.#sent.delete(batch);
      this.#link.settle();
      taken.push(pending);
    }
    return taken.flat();
  }

  #settleCall({ operation, resolve, reject }: Pending, outcome: Outcome): void {
    if (outcome?.refusal === undefined) resolve(outcome?.value);
    else reject(toError(this.#file, operation, outcome.refusal));
  }

  #lose(error: HarnessError): void {
    this.#lost = error;
    const pending = [...this.#sent.values()].flat().concat(this.#gathering);
    this.#sent.clear();
    this.#gathering = [];
    for (const { reject } of pending) reject(error);
    this.#onIdle?.();
  }

  /** Whether more than {@link BUSY_PER_SECOND} came, looked at every 100 ms. */
  #isBusyNow(): boolean {
    const now = performance.now();
    const passedMs = now - this.#countSince;
    if (passedMs >= 100) {
      this.#isBusy = (this.#count * 1000) / passedMs > BUSY_PER_SECOND;
      this.#countSince = now;
      this.#count = 0;
    }
    return this.#isBusy;
  }
}

function toError(file: string, operation: Operation, refusal: Refusal): Error {
  switch (refusal.kind) {
    case "taken":
      return new IdempotencyTakenError(refusal.existing);
    case "exists":
      return alreadyThere(refusal.resource, refusal.id);
    case "unavailable":
      return fileError(file, refusal);
    default:
      return toAppendError(operation, refusal);
  }
}

function toAppendError(operation: Operation, refusal: Refusal & { readonly kind: "conflict" | "fenced" }): Error {
  if (operation.kind !== "append") throw new TypeError(`${operation.kind} cannot be refused as ${refusal.kind}`);
  const { key, expected, fence = 0 } = operation.write;
  return refusal.kind === "fenced" ? fenced(key, fence) : sequenceConflict(key, expected, refusal.headSequence);
}
