import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { EventChunk } from "./chunk.js";
import { type Decision, toAppend } from "./decision.js";
import { HarnessError, isHarnessError } from "./errors.js";
import { decodeFold, type Fold } from "./fold.js";
import type { Log } from "./provider.js";
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
  /** What is written; unset for a decision that writes nothing, and for a refusal. */
  append: Append | undefined;
  /** How far that is; `pending` also before it is sent. */
  write: "none" | "pending" | "stored" | "failed";
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
 *
 * That needs every write after a failed one to fail too. One that follows an
 * event does: its `expected` is wrong without it. A write of side rows alone
 * leaves the sequence as it is, so what follows is sent only once it is stored.
 */
export class Writer {
  readonly #store: Store;
  readonly #key: ExecutionKey;
  readonly #log: Log;
  readonly #onCommit: CommitListener;
  /** The fold after every decision made. */
  #head: Fold;
  /** The fold after every decision stored. */
  #committed: Fold;
  /** Decisions that are not settled, oldest first. */
  #entries: Entry[] = [];
  /** The write of side rows alone that is under way, and what waits for it, oldest first. */
  #barrier: Entry | undefined;
  #behind: Entry[] = [];
  /** Writes that the store has not answered. */
  #inFlight = 0;
  /** What is settled is being answered: what a listener decides meanwhile comes after. */
  #answering = false;
  /** A write failed, and what is stored is not read yet: nothing is decided. */
  #recovering = false;

  constructor(store: Store, key: ExecutionKey, fold: Fold, log: Log, onCommit: CommitListener) {
    this.#store = store;
    this.#key = key;
    this.#log = log;
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
        append: undefined,
        write: "none",
        failure: undefined,
        losses: 0,
      };
      this.#entries.push(entry);
      if (!this.#recovering) this.#issue(entry);
    });
  }

  #issue(entry: Entry): void {
    const before = this.#head;
    entry.append = undefined;
    try {
      const decision = entry.decide(before);
      // What cannot be encoded is refused here, before anything builds on it.
      entry.append = toAppend(this.#key, before, decision, entry.fence);
      entry.outcome = { decision };
      this.#head = decision.fold;
    } catch (refusal) {
      entry.outcome = { refusal };
    }
    entry.write = entry.append === undefined ? "none" : "pending";
    this.#send(entry);
    this.#settle();
  }

  #send(entry: Entry): void {
    const { append } = entry;
    if (append === undefined) return;
    if (this.#barrier !== undefined) {
      this.#behind.push(entry);
      return;
    }
    if (append.chunk === undefined) this.#barrier = entry;
    this.#inFlight++;
    this.#store.append(append).then(
      () => this.#answered(entry, "stored"),
      (error: unknown) => {
        entry.failure = error;
        this.#answered(entry, "failed");
      },
    );
  }

  #answered(entry: Entry, write: "stored" | "failed"): void {
    this.#inFlight--;
    entry.write = write;
    if (entry === this.#barrier && write === "stored") for (const next of this.#dropBarrier()) this.#send(next);
    this.#settle();
  }

  /** Ends the wait for a write of side rows; returns what waited. */
  #dropBarrier(): readonly Entry[] {
    const behind = this.#behind;
    this.#behind = [];
    this.#barrier = undefined;
    return behind;
  }

  #settle(): void {
    if (this.#answering) return;
    this.#answering = true;
    if (!this.#recovering) this.#answerSettled();
    this.#answering = false;
    // The later writes first: until each is answered, what is stored may still change.
    if (this.#recovering && this.#inFlight === 0) void this.#recover();
  }

  /** Answers the oldest entries as far as they are settled, strictly in order. */
  #answerSettled(): void {
    for (let entry = this.#entries[0]; entry?.outcome !== undefined; entry = this.#entries[0]) {
      this.#recovering = entry.write === "failed";
      if (entry.write === "pending" || entry.write === "failed") return;
      this.#entries.shift();
      this.#answer(entry);
    }
  }

  #answer({ outcome, append, resolve, reject }: Entry): void {
    if (outcome === undefined) return;
    if ("refusal" in outcome) {
      reject(outcome.refusal);
      return;
    }
    if (append !== undefined) this.#publish(outcome.decision.fold, append.chunk);
    resolve(outcome.decision.result);
  }

  /** Tells of a commit; a listener that fails keeps no caller from its answer. */
  #publish(fold: Fold, chunk: EventChunk | undefined): void {
    this.#committed = fold;
    try {
      this.#onCommit(fold, chunk);
    } catch (error) {
      this.#log.error({ executionId: this.#key.executionId, error }, "what follows a commit failed");
    }
  }

  /** After a failed write: reads the truth, and decides on it what is not stored. */
  async #recover(): Promise<void> {
    try {
      await this.#reload();
    } catch (error) {
      this.#giveUp(unavailable(error));
      return;
    }
    const [failed, ...later] = this.#restart();
    if (failed === undefined) return;
    if (mayRetry(failed)) later.unshift(failed);
    else failed.reject(failed.failure);
    for (const entry of later) {
      if (tellStored(entry)) continue;
      entry.outcome = undefined;
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
    if (moved) this.#publish(this.#committed, undefined);
  }

  #giveUp(error: HarnessError): void {
    for (const entry of this.#restart()) if (!tellStored(entry)) entry.reject(error);
  }

  /** Begins again after what is known to be stored; returns the entries that are not answered. */
  #restart(): Entry[] {
    const entries = this.#entries;
    this.#entries = [];
    this.#dropBarrier();
    this.#head = this.#committed;
    this.#recovering = false;
    return entries;
  }
}

/**
 * Resolves an entry whose own write was stored although one before it failed, as
 * happens where another process wrote just as many events: it is in the log, and
 * decided again it would be there twice.
 */
function tellStored({ outcome, write, resolve }: Entry): boolean {
  if (write !== "stored" || outcome === undefined || "refusal" in outcome) return false;
  resolve(outcome.decision.result);
  return true;
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
