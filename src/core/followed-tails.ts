import type { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Clock } from "./clock.js";
import type { ExecutionKey, Store, StoredExecution } from "./store.js";
import { Tail } from "./tail.js";

/** What followed tails work on. */
export interface FollowedTailsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  readonly tailBytes: number;
}

interface Followed {
  readonly key: ExecutionKey;
  readonly tail: Tail;
  readers: number;
  reading: boolean;
}

/**
 * Tails of executions that another process writes: read from the store when a
 * hint says so, and at every poll interval although no hint came, as long as
 * somebody reads them.
 */
export class FollowedTails {
  readonly #options: FollowedTailsOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #forgetHints: () => void;
  #stop: (() => void) | undefined;

  constructor(options: FollowedTailsOptions) {
    this.#options = options;
    this.#forgetHints = options.store.onHint(({ executionId }) => {
      const followed = this.#followed.get(executionId);
      if (followed !== undefined) void this.#read(followed);
    });
  }

  /** Returns the tail of an execution and a function that gives it up. */
  open(stored: StoredExecution): { readonly tail: Tail; readonly release: () => void } {
    const { executionId } = stored.key;
    const { tailBytes } = this.#options;
    const followed = this.#followed.get(executionId) ?? {
      key: stored.key,
      tail: new Tail(tailBytes, stored.lastSequence, stored.state),
      readers: 0,
      reading: false,
    };
    this.#followed.set(executionId, followed);
    followed.readers++;
    this.#arm();
    return { tail: followed.tail, release: () => this.#release(followed) };
  }

  /** Ends all following. */
  close(): void {
    this.#forgetHints();
    this.#stop?.();
    this.#followed.clear();
  }

  #release(followed: Followed): void {
    followed.readers--;
    if (followed.readers === 0) this.#followed.delete(followed.key.executionId);
  }

  #arm(): void {
    if (this.#stop !== undefined) return;
    const { clock, pollIntervalMs } = this.#options;
    this.#stop = clock.after(pollIntervalMs, () => {
      this.#stop = undefined;
      for (const followed of this.#followed.values()) void this.#read(followed);
      if (this.#followed.size > 0) this.#arm();
    });
  }

  async #read(followed: Followed): Promise<void> {
    const { store } = this.#options;
    if (followed.reading) return;
    followed.reading = true;
    try {
      const { tail, key } = followed;
      const stored = await store.getExecution(key);
      if (stored !== undefined && isNews(tail, stored.lastSequence, stored.state)) {
        tail.publish(undefined, stored.lastSequence, stored.state);
      }
    } catch {
      // The store is out of reach for now; the next poll looks again.
    } finally {
      followed.reading = false;
    }
  }
}

function isNews(tail: Tail, headSequence: number, state: ExecutionState): boolean {
  return headSequence > tail.headSequence || state !== tail.state;
}
