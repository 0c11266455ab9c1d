import type { Clock } from "./clock.js";

/** A clock whose timers end together: none runs once it is closed. */
export class Timers implements Clock {
  readonly #clock: Clock;
  readonly #armed = new Set<() => void>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  now(): number {
    return this.#clock.now();
  }

  after(delayMs: number, run: () => void): () => void {
    if (this.#closed) return () => undefined;
    const disarm = this.#clock.after(delayMs, () => {
      this.#armed.delete(disarm);
      run();
    });
    this.#armed.add(disarm);
    return () => {
      this.#armed.delete(disarm);
      disarm();
    };
  }

  /** Cancels all timers, and takes no more. */
  close(): void {
    this.#closed = true;
    for (const disarm of this.#armed) disarm();
    this.#armed.clear();
  }
}
