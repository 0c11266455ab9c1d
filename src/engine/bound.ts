import { setImmediate } from "node:timers/promises";
import type { Clock } from "../core/clock.js";
import { messageOf } from "./errors.js";

/** The time that several pieces of work share. */
export interface Bound {
  /** Waits for one of them: rejects as it does, or once the time is over, however long it goes on. */
  readonly within: Within;
  /** Ends the timer. */
  stop(): void;
}

export type Within = <T>(work: Promise<T> | T) => Promise<T>;

/** For what may take as long as it wants. */
export const unbounded: Within = async (work) => await work;

/** Starts the time, in milliseconds. */
export function startBound(clock: Clock, limitMs: number): Bound {
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {});
  const stop = clock.after(limitMs, () => late.reject(new Error(`it did not end within ${limitMs} ms`)));
  // What is begun when the time is over already and needs none still counts.
  const end = async (): Promise<never> =>
    await late.promise.catch(async (error: unknown) => {
      await setImmediate();
      throw error;
    });
  return { within: (work) => Promise.race([work, end()]), stop };
}

/** Does one thing of the end; what goes wrong with it is said and stops nothing. */
export async function attempt(what: string, work: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    return [`${what}: ${messageOf(error)}`];
  }
}
