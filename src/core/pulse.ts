import type { Clock } from "./clock.js";
import type { LogWatcher } from "./watcher.js";

/** How finely silence is measured: a heartbeat may be this part of its interval late. */
const TICKS = 10;

/** One timer for the heartbeats of all watchers, running only while there is any. */
export class Pulse {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #watchers = new Set<LogWatcher>();
  #stop: (() => void) | undefined;

  constructor(clock: Clock, heartbeatIntervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = heartbeatIntervalMs / TICKS;
  }

  add(watcher: LogWatcher): void {
    this.#watchers.add(watcher);
    if (this.#stop === undefined) this.#arm();
  }

  remove(watcher: LogWatcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  /** Closes every watcher. */
  closeAll(): void {
    for (const watcher of this.#watchers) watcher.close();
  }

  #arm(): void {
    this.#stop = this.#clock.after(this.#intervalMs, () => {
      for (const watcher of this.#watchers) watcher.tick(TICKS);
      if (this.#watchers.size > 0) this.#arm();
      else this.#stop = undefined;
    });
  }
}
