import { type ReadonlySignal, signal } from "@preact/signals";

const now = signal(Date.now());

/** The time, which steps once a second while the page is visible. */
export const nowMs: ReadonlySignal<number> = now;

/** Begins to step {@link nowMs}. */
export function startNow(): void {
  const step = (): void => {
    if (!document.hidden) now.value = Date.now();
  };
  setInterval(step, 1_000);
  document.addEventListener("visibilitychange", step);
}
