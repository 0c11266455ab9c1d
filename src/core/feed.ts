import type { Clock } from "./clock.js";
import { isTerminal } from "./lifecycle.js";
import type { LiveExecution } from "./live-execution.js";

/** At most this often is one item shown: 4 times a second. */
const COALESCE_MS = 250;

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
    this.#feeds.add(feed);
    return feed;
  }

  /** Says that an execution changed; `row` where more than the head did. */
  changed(live: LiveExecution, row: boolean): void {
    for (const feed of this.#feeds) feed.add(live, row);
  }
}

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
export class ChangeFeed {
  readonly #clock: Clock;
  readonly #of: FeedScope;
  readonly #signal: AbortSignal;
  readonly #close: () => void;
  /** By ID, whether it is over. */
  #changed = new Map<string, boolean>();
  #wake: (() => void) | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, of: FeedScope, signal: AbortSignal, close: () => void) {
    this.#clock = clock;
    this.#of = of;
    this.#signal = signal;
    this.#close = close;
    signal.addEventListener("abort", () => this.end(), { once: true });
  }

  add(live: LiveExecution, row: boolean): void {
    if (live.key.tenantId !== this.#of.tenantId || (this.#of.rowsOnly && !row)) return;
    this.#changed.set(live.key.executionId, isTerminal(live.writer.committed.execution.state));
    this.#wake?.();
  }

  /** Resolves with the next changes; undefined once the signal is aborted. */
  async next(): Promise<readonly Change[] | undefined> {
    while (this.#changed.size === 0 && !this.#signal.aborted) await this.#pause(undefined);
    const waitMs = this.#lastMs + COALESCE_MS - this.#clock.now();
    if (waitMs > 0 && !this.#signal.aborted) await this.#pause(waitMs);
    if (this.#signal.aborted) return undefined;
    this.#lastMs = this.#clock.now();
    const changed = this.#changed;
    this.#changed = new Map();
    return Array.from(changed, ([executionId, over]) => ({ executionId, over }));
  }

  /** Takes the feed out of its hub. */
  end(): void {
    this.#close();
    this.#wake?.();
  }

  /** Until `waitMs` passed; without it, until something changed; in any case until the signal. */
  #pause(waitMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#wake = undefined;
        disarm?.();
        resolve();
      };
      const disarm = waitMs === undefined ? undefined : this.#clock.after(waitMs, done);
      this.#wake = waitMs === undefined ? done : () => (this.#signal.aborted ? done() : undefined);
      if (this.#signal.aborted) done();
    });
  }
}
