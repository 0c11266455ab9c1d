/** Counts by key; a key whose count is 0 takes no room. */
export class Tally {
  readonly #counts = new Map<string, number>();

  /** How many keys have a count. */
  get size(): number {
    return this.#counts.size;
  }

  countOf(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string): void {
    this.#counts.set(key, this.countOf(key) + 1);
  }

  /** Takes one off; below 0 there is nothing. */
  remove(key: string): void {
    const left = this.countOf(key) - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }
}
