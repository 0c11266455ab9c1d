import type { Clock } from "../../src/client/clock.js";

/** A clock that a test moves. */
export interface ManualClock extends Clock {
  /** Moves on by `ms`, runs the timers that are due in order, and lets what they caused settle. */
  advance(ms: number): Promise<void>;
  /** The delays of the timers that are armed, the shortest first. */
  pending(): number[];
}

export function manualClock(): ManualClock {
  let nowMs = 0;
  const timers = new Set<{ readonly dueMs: number; readonly run: () => void }>();
  return {
    now: () => nowMs,
    after(delayMs, run) {
      const timer = { dueMs: nowMs + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      nowMs += ms;
      for (const timer of [...timers].sort((a, b) => a.dueMs - b.dueMs)) {
        if (timer.dueMs > nowMs) break;
        if (timers.delete(timer)) timer.run();
      }
      await settled();
    },
    pending: () => [...timers].map(({ dueMs }) => dueMs - nowMs).sort((a, b) => a - b),
  };
}

/** Lets promises that are already decided run their course. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A clock whose timers are due at once: waiting takes no time, but happens. */
export function hastyClock(): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  let nowMs = 0;
  return {
    waits,
    now: () => nowMs,
    after(delayMs, run) {
      // Watchdogs never bark here: what waits for them would otherwise race with them.
      if (delayMs >= 30_000) return () => undefined;
      const timer = setImmediate(() => {
        waits.push(delayMs);
        nowMs += delayMs;
        run();
      });
      return () => clearImmediate(timer);
    },
  };
}
