/** Who owns an execution, by its short key. Owners end with the process, so they are kept in memory alone. */
export class Owners {
  readonly #owners = new Map<number, Owner>();
  /** What the commit that is being made changed, newest last. */
  readonly #before: [number, Owner | undefined][] = [];

  get(execution: number): Owner | undefined {
    return this.#owners.get(execution);
  }

  set(execution: number, owner: Owner): void {
    this.#remember(execution);
    this.#owners.set(execution, owner);
  }

  delete(execution: number): void {
    this.#remember(execution);
    this.#owners.delete(execution);
  }

  /** Keeps the changes since the last call of this or of {@link rollBack}. */
  commit(): void {
    this.#before.length = 0;
  }

  rollBack(): void {
    for (const [execution, owner] of this.#before.splice(0).reverse()) {
      if (owner === undefined) this.#owners.delete(execution);
      else this.#owners.set(execution, owner);
    }
  }

  #remember(execution: number): void {
    this.#before.push([execution, this.#owners.get(execution)]);
  }
}

export interface Owner {
  readonly name: string;
  readonly leaseUntilMs: number;
}
