import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type EventChunk, encodeChunk } from "./chunk.js";
import type { Decision } from "./decision.js";
import { HarnessError, isHarnessError } from "./errors.js";
import { decodeFold, encodeRow, type Fold } from "./fold.js";
import type { Append, ExecutionKey, Store } from "./store.js";

/** A pure decision on the fold that it is given; throws a HarnessError to refuse. */
export type Decide<T> = (fold: Fold) => Decision<T>;

/** Told of each commit, in order; `chunk` is unset where the fold was read anew and events may be missing between. */
export type CommitListener = (fold: Fold, chunk: EventChunk | undefined) => void;

/** A decision that loses this often to another writer is refused. */
const MOST_LOSSES = 5;

interface Entry {
  readonly decide: Decide<unknown>;
  readonly fence: number | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  outcome: { readonly decision: Decision<unknown> } | { readonly refusal: unknown } | undefined;
  write: "none" | "pending" | "stored" | "failed";
  chunk: EventChunk | undefined;
  failure: unknown;
  losses: number;
}

/**
 * The one decider of an execution in a process. Decisions are made at once, in
 * the order of the calls, each on the fold that the ones before it lead to, and
 * are written without waiting for one another; a caller is answered when its own
 * write, and all before it, are stored. A write that fails discards every
 * decision after it: the fold is read from the store again and they are decided
 * anew on what is really there.
 */
export class Writer {
  readonly #store: Store;
  readonly #key: ExecutionKey;
  readonly #onCommit: CommitListener;
  /** The fold after every decision made. */
  #head: Fold;
  /** The fold after every decision stored. */
  #committed: Fold;
  /** Decisions that are not settled, oldest first. */
  #entries: Entry[] = [];
  #recovering = false;

  constructor(store: Store, key: ExecutionKey, fold: Fold, onCommit: CommitListener) {
    this.#store = store;
    this.#key = key;
    this.#head = fold;
    this.#committed = fold;
    this.#onCommit = onCommit;
  }

  /** What is stored: all that anybody may be shown. */
  get committed(): Fold {
    return this.#committed;
  }

  /** What is decided, stored or not: for checks that a decision repeats. */
  get head(): Fold {
    return this.#head;
  }

  /**
   * Decides now and resolves with the decision's result once it is stored. Rejects
   * with what `decide` threw, with STORE_UNAVAILABLE, with FENCED (`fence` is the
   * owner's, unset for a command), or with IdempotencyTakenError.
   */
  decide<T>(decide: Decide<T>, fence?: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const entry: Entry = {
        decide,
        fence,
        resolve: resolve as (result: unknown) => void,
        reject,
        outcome: undefined,
        write: "none",
        chunk: undefined,
        failure: undefined,
        losses: 0,
      };
      this.#entries.push(entry);
      if (!this.#recovering) this.#issue(entry);
    });
  }

  #issue(entry: Entry): void {
    const before = this.#head;
    try {
      const decision = entry.decide(before);
      entry.outcome = { decision };
      entry.write = decision.events.length > 0 || decision.side !== undefined ? "pending" : "none";
      // What cannot be encoded is refused here, before anything builds on it.
      const write = entry.write === "pending" ? toAppend(this.#key, before, decision, entry.fence) : undefined;
      this.#head = decision.fold;
      if (write !== undefined) this.#append(entry, write);
    } catch (refusal) {
      entry.outcome = { refusal };
      entry.write = "none";
    }
    this.#settle();
  }

  #append(entry: Entry, { write, chunk }: { write: Append; chunk: EventChunk | undefined }): void {
    this.#store.append(write).then(
      () => {
        entry.write = "stored";
        entry.chunk = chunk;
        this.#settle();
      },
      (error: unknown) => {
        entry.write = "failed";
        entry.failure = error;
        this.#settle();
      },
    );
  }

  /** Answers the oldest entries as far as they are settled, strictly in order. */
  #settle(): void {
    if (this.#recovering) return;
    for (let entry = this.#entries[0]; entry?.outcome !== undefined; entry = this.#entries[0]) {
      if (entry.write === "pending") return;
      if (entry.write === "failed") {
        this.#recovering = true;
        void this.#recover();
        return;
      }
      this.#entries.shift();
      this.#answer(entry);
    }
  }

  #answer(entry: Entry): void {
    const { outcome } = entry;
    if (outcome === undefined) return;
    if ("refusal" in outcome) {
      entry.reject(outcome.refusal);
      return;
    }
    if (entry.write === "stored") {
      this.#committed = outcome.decision.fold;
      this.#onCommit(this.#committed, entry.chunk);
    }
    entry.resolve(outcome.decision.result);
  }

  /** After a failed write: waits until the later ones have failed too, reads the truth, and decides the rest on it. */
  async #recover(): Promise<void> {
    while (this.#entries.some((entry) => entry.write === "pending")) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    const failed = this.#entries[0];
    try {
      await this.#reload();
    } catch (error) {
      this.#giveUp(unavailable(error));
      return;
    }
    this.#recovering = false;
    if (failed !== undefined && !mayRetry(failed)) {
      this.#entries.shift();
      failed.reject(failed.failure);
    }
    const again = this.#entries;
    this.#entries = [];
    for (const entry of again) {
      entry.outcome = undefined;
      entry.write = "none";
      this.#entries.push(entry);
      this.#issue(entry);
    }
  }

  async #reload(): Promise<void> {
    const stored = await this.#store.getExecution(this.#key);
    if (stored === undefined) throw new Error("the execution is gone from the store");
    const { artifactIds } = await this.#store.getSideRows(this.#key);
    const moved = stored.lastSequence !== this.#committed.lastSequence;
    this.#committed = decodeFold(stored, artifactIds);
    this.#head = this.#committed;
    if (moved) this.#onCommit(this.#committed, undefined);
  }

  #giveUp(error: HarnessError): void {
    const lost = this.#entries;
    this.#entries = [];
    this.#head = this.#committed;
    this.#recovering = false;
    for (const entry of lost) entry.reject(error);
  }
}

function mayRetry(entry: Entry): boolean {
  if (!isHarnessError(entry.failure, ErrorReason.SEQUENCE_CONFLICT)) return false;
  entry.losses++;
  return entry.losses <= MOST_LOSSES;
}

/** Returns `error` where it says that the store cannot be used, else one that does. */
export function unavailable(error: unknown): HarnessError {
  if (isHarnessError(error, ErrorReason.STORE_UNAVAILABLE)) return error;
  return new HarnessError(
    ErrorReason.STORE_UNAVAILABLE,
    "the store cannot be used now; nothing was changed, try again",
    {},
    { cause: error, retryMs: 1000 },
  );
}

function toAppend(
  key: ExecutionKey,
  before: Fold,
  { fold, events, side, idempotency }: Decision<unknown>,
  fence: number | undefined,
): { readonly write: Append; readonly chunk: EventChunk | undefined } {
  const chunk = events.length === 0 ? undefined : encodeChunk(events);
  const changed = fold.execution !== before.execution || fold.inner !== before.inner;
  const write: Append = {
    key,
    expected: before.lastSequence,
    lastSequence: fold.lastSequence,
    updateTimeMs: fold.updateTimeMs,
    ...(fence === undefined ? {} : { fence }),
    ...(chunk === undefined ? {} : { chunk }),
    ...(changed ? { row: encodeRow(fold) } : {}),
    ...(side === undefined ? {} : { side }),
    ...(idempotency === undefined ? {} : { idempotency }),
  };
  return { write, chunk };
}
