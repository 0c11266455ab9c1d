import { deserialize, serialize } from "node:v8";

/** Copies of values by key, of which the ones used last are kept, up to a number and a size in bytes. */
export class RecentValues {
  readonly #maxCount: number;
  readonly #maxBytes: number;
  /** Encoded; the one used last is last. */
  readonly #values = new Map<string, Uint8Array>();
  #sizeBytes = 0;

  constructor(maxCount: number, maxBytes: number) {
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
  }

  /** Returns a copy; undefined where there is none. */
  get(key: string): unknown {
    const bytes = this.#values.get(key);
    if (bytes === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, bytes);
    // What is decoded may share the memory that it is decoded from.
    return deserialize(new Uint8Array(bytes));
  }

  /** Keeps a copy, whatever its size, and lets go of others where that is too much. Throws where it cannot be copied. */
  set(key: string, value: unknown): void {
    const bytes = serialize(value);
    this.delete(key);
    this.#values.set(key, bytes);
    this.#sizeBytes += bytes.length;
    for (const oldest of this.#values.keys()) {
      if (oldest === key || (this.#values.size <= this.#maxCount && this.#sizeBytes <= this.#maxBytes)) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#sizeBytes -= this.#values.get(key)?.length ?? 0;
    this.#values.delete(key);
  }

  /** Deletes all whose key begins so. */
  deleteAll(prefix: string): void {
    for (const key of [...this.#values.keys()]) if (key.startsWith(prefix)) this.delete(key);
  }
}
