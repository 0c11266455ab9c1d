/** The time and timers, as a parameter: tests step it, production uses {@link systemClock}. */
export interface Clock {
  /** The current time in milliseconds since 1970-01-01 UTC. */
  now(): number;
  /** Calls `run` once after `delayMs`; the returned function cancels it and may be called at any time. */
  after(delayMs: number, run: () => void): () => void;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. Its timers keep the process alive and may be longer than 24.8 days. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, run) {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(Math.max(leftMs, 0), LONGEST_TIMER_MS);
      timer = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : run()), stepMs);
    };
    arm(delayMs);
    return () => clearTimeout(timer);
  },
};
