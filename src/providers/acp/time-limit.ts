import type { Clock } from "../../core/clock.js";

/** Waits for `work`, at most `limitMs`; then rejects with what `late` makes. */
export async function withLimit<T>(work: Promise<T>, limitMs: number, clock: Clock, late: () => Error): Promise<T> {
  let stop: () => void = () => {};
  const limit = new Promise<never>((_, reject) => {
    // What came while this process had no time to read it, comes now.
    stop = clock.after(limitMs, () => setImmediate(() => reject(late())));
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    stop();
  }
}

/** Resolves when `work` has settled, either way, or after `limitMs`; says which. */
export async function settledWithin(work: Promise<unknown>, limitMs: number, clock: Clock): Promise<boolean> {
  let stop: () => void = () => {};
  const limit = new Promise<boolean>((resolve) => {
    stop = clock.after(limitMs, () => resolve(false));
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  const result = await Promise.race([settled, limit]);
  stop();
  return result;
}

/** Measures time that may pass, and does not while somebody else is waited for. */
export class PausableLimit {
  private leftMs: number;
  private since = 0;
  private pauses = 0;
  private stop: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    limitMs: number,
    private readonly reached: () => void,
  ) {
    this.leftMs = limitMs;
    this.run();
  }

  /** Stops the time until as many {@link PausableLimit.resume}. */
  pause(): void {
    if (this.pauses++ > 0) return;
    this.stop?.();
    this.leftMs -= this.clock.now() - this.since;
  }

  resume(): void {
    if (--this.pauses === 0) this.run();
  }

  /** Ends the measuring for good. */
  end(): void {
    this.pauses++;
    this.stop?.();
  }

  private run(): void {
    this.since = this.clock.now();
    this.stop = this.clock.after(Math.max(this.leftMs, 0), this.reached);
  }
}
