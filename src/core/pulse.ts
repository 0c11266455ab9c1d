import type { Clock } from "./clock.js";

/** What is owed a heartbeat when it was silent for too long. */
export interface Pulsed {
  /** Counts one tick; after `ticks` without a frame the reader is due an empty one. */
  tick(ticks: number): void;
  close(): void;
}

/** How finely silence is measured: a heartbeat may be this part of its interval late. */
const TICKS = 10;

/** One timer for the heartbeats of all that watch, running only while anybody does. */
export class Pulse {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #watchers = new Set<Pulsed>();
  #stop: (() => void) | undefined;

  constructor(clock: Clock, heartbeatIntervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = heartbeatIntervalMs / TICKS;
  }

  add(watcher: Pulsed): void {
    this.#watchers.add(watcher);
    if (this.#stop === undefined) this.#arm();
  }

  remove(watcher: Pulsed): void {
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
