import type { Clock } from "../../src/core/clock.js";

interface Timer {
  atMs: number;
  readonly run: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<Timer>();

  constructor(nowMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + Math.max(delayMs, 0), run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers there are. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Sets the time back, as a correction of a machine's clock does: timers take as long as they would have. */
  setBack(byMs: number): void {
    this.#nowMs -= byMs;
    for (const timer of this.#timers) timer.atMs -= byMs;
  }

  /** Moves the time, running each timer that is due on the way and what follows from it. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settle();
    for (let next = this.#next(untilMs); next !== undefined; next = this.#next(untilMs)) {
      this.#timers.delete(next);
      this.#nowMs = Math.max(next.atMs, this.#nowMs);
      next.run();
      await settle();
    }
    this.#nowMs = untilMs;
  }

  #next(untilMs: number): Timer | undefined {
    return [...this.#timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
  }
}

/** Lets everything run that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}
