/** What is under way in a run: its end waits for all of it, and each turn for what is its own. */
export class RunWork {
  readonly #work = new Set<Promise<unknown>>();
  readonly #owned = new Set<Promise<unknown>>();

  /** Makes the end of the run wait for some work, whatever becomes of it. */
  track<T>(work: Promise<T>): Promise<T> {
    hold(this.#work, work);
    return work;
  }

  /** Makes the current turn wait for some work, and the end of the run too. */
  own<T>(work: Promise<T>): Promise<T> {
    hold(this.#owned, this.track(work));
    return work;
  }

  /** Resolves when all owned work has ended, that which it began included. */
  async settleOwned(): Promise<void> {
    while (this.#owned.size > 0) await Promise.all(this.#owned);
  }

  /** Resolves when nothing is under way. */
  async settle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }
}

function hold(held: Set<Promise<unknown>>, work: Promise<unknown>): void {
  const settled = work.then(
    () => {},
    () => {},
  );
  held.add(settled);
  void settled.then(() => held.delete(settled));
}
