import type { Clock } from "./clock.js";
import { isTerminal } from "./lifecycle.js";
import type { LiveExecution } from "./live-execution.js";
import type { Pulsed } from "./pulse.js";

/** At most this often is one item shown: 4 times a second. */
const COALESCE_MS = 250;

/** A reader that is further behind than this many executions is shown all that matches anew. */
const MAX_CHANGED = 10_000;

/** Tells whoever asks which executions changed. */
export class ChangeHub {
  readonly #feeds = new Set<ChangeFeed>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Opens a feed of one tenant's changes, with `rowsOnly` not of those that only moved a head; it ends with the signal. */
  open(tenantId: string, signal: AbortSignal, rowsOnly = false): ChangeFeed {
    const feed = new ChangeFeed(this.#clock, { tenantId, rowsOnly }, signal, () => this.#feeds.delete(feed));
    if (!signal.aborted) this.#feeds.add(feed);
    return feed;
  }

  /** Says that an execution changed; `row` where more than the head did. */
  changed(live: LiveExecution, row: boolean): void {
    for (const feed of this.#feeds) feed.add(live, row);
  }
}

/** What changed since a reader last asked: some executions, or more than are kept apart. */
export type Changes = readonly Change[] | "all";

/** An execution that changed. */
export interface Change {
  readonly executionId: string;
  /** Whether it is terminal: it does not change again. */
  readonly over: boolean;
}

interface FeedScope {
  readonly tenantId: string;
  readonly rowsOnly: boolean;
}

/** The executions that changed since they were last asked for; each at most 4 times a second. */
export class ChangeFeed implements Pulsed {
  readonly #clock: Clock;
  readonly #of: FeedScope;
  readonly #signal: AbortSignal;
  readonly #onClose: () => void;
  readonly #onAbort = (): void => this.close();
  /** By ID, whether it is over. */
  #changed = new Map<string, boolean>();
  /** Whether more changed than `#changed` keeps. */
  #overran = false;
  #wake: (() => void) | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #idleTicks = 0;
  #silent = false;
  #closed = false;

  constructor(clock: Clock, of: FeedScope, signal: AbortSignal, onClose: () => void) {
    this.#clock = clock;
    this.#of = of;
    this.#signal = signal;
    this.#onClose = onClose;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#closed = signal.aborted;
  }

  /** Whether its reader is due a heartbeat. */
  get isSilent(): boolean {
    return this.#silent;
  }

  add(live: LiveExecution, row: boolean): void {
    if (live.key.tenantId !== this.#of.tenantId || (this.#of.rowsOnly && !row)) return;
    const { executionId } = live.key;
    if (this.#changed.size >= MAX_CHANGED && !this.#changed.has(executionId)) {
      this.#overran = true;
      this.#changed.clear();
    }
    this.#changed.set(executionId, isTerminal(live.writer.committed.execution.state));
    this.#wake?.();
  }

  /** Resolves with the next changes, with none when a heartbeat is due, and with undefined once it is closed. */
  async next(): Promise<Changes | undefined> {
    while (this.#changed.size === 0 && !this.#silent && !this.#closed) await this.#pause(undefined);
    if (this.#changed.size > 0) await this.#coalesce();
    if (this.#closed) return undefined;
    const changed = this.#changed;
    this.#changed = new Map();
    const overran = this.#overran;
    this.#overran = false;
    if (overran) return "all";
    return Array.from(changed, ([executionId, over]) => ({ executionId, over }));
  }

  /** Says that the reader was sent a frame. */
  heard(): void {
    this.#idleTicks = 0;
    this.#silent = false;
  }

  tick(ticks: number): void {
    this.#idleTicks++;
    if (this.#idleTicks < ticks) return;
    this.#silent = true;
    this.#wake?.();
  }

  /** Takes the feed out of its hub; idempotent. */
  close(): void {
    this.#closed = true;
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#onClose();
    this.#wake?.();
  }

  /** Waits until what changed may be shown. */
  async #coalesce(): Promise<void> {
    // A clock that was set back does not make the wait longer.
    const waitMs = Math.min(this.#lastMs + COALESCE_MS - this.#clock.now(), COALESCE_MS);
    if (waitMs > 0 && !this.#closed) await this.#pause(waitMs);
    this.#lastMs = this.#clock.now();
  }

  /** Until `waitMs` passed; without it, until something happened; in any case until it is closed. */
  #pause(waitMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#wake = undefined;
        disarm?.();
        resolve();
      };
      const disarm = waitMs === undefined ? undefined : this.#clock.after(waitMs, done);
      this.#wake = waitMs === undefined ? done : () => (this.#closed ? done() : undefined);
    });
  }
}
