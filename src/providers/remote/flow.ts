/** What one instance's stream may hold in memory before it is read on, in bytes. */
const MAX_HELD_BYTES = 8 << 20;

/** Counts what was read from one instance and is not stored yet: the back-pressure on its stream. */
export class Flow {
  #heldBytes = 0;
  #waiting: (() => void)[] = [];

  hold(bytes: number): void {
    this.#heldBytes += bytes;
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
    if (this.#heldBytes > MAX_HELD_BYTES) return;
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Resolves when there is room for more; undefined where there is already. */
  room(): Promise<void> | undefined {
    if (this.#heldBytes <= MAX_HELD_BYTES) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Returns about how much memory a decoded message takes, in bytes; never less than what bounds need. */
export function roughBytes(value: unknown): number {
  if (typeof value === "string") return 2 * value.length + 16;
  if (value instanceof Uint8Array) return value.length + 64;
  if (typeof value !== "object" || value === null) return 8;
  let bytes = 64;
  for (const part of Object.values(value)) bytes += roughBytes(part);
  return bytes;
}
