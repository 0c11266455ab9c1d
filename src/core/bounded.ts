import type { Clock } from "./clock.js";

/** What became of work that had a limit. */
export type Bounded<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "late" };

/** Waits for `work`, at most `limitMs`; never rejects. Work that is late goes on, and what it throws later is ignored. */
export function bounded<T>(clock: Clock, limitMs: number, work: Promise<T>): Promise<Bounded<T>> {
  return new Promise((resolve) => {
    const disarm = clock.after(limitMs, () => resolve({ kind: "late" }));
    work.then(
      (value) => {
        disarm();
        resolve({ kind: "done", value });
      },
      (error: unknown) => {
        disarm();
        resolve({ kind: "threw", error });
      },
    );
  });
}

/** Calls `work` so that what it throws at once is a rejection too. */
export async function promised<T>(work: () => Promise<T> | T): Promise<T> {
  return await work();
}
