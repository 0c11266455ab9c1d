import type { ProviderContext, ProviderEvent } from "../core/provider.js";

/** With more events than this waiting, {@link Emitter.room} waits. */
const ENOUGH = 256;

/**
 * Appends a turn's events in order without making the driver wait for each: while
 * one write is under way, the next events gather and go together.
 */
export class Emitter {
  readonly #context: ProviderContext;
  #waiting: ProviderEvent[] = [];
  #writing: Promise<void> | undefined;
  #failed: { readonly error: unknown } | undefined;
  #hasText = false;

  constructor(context: ProviderContext) {
    this.#context = context;
  }

  /** Whether any text was emitted. */
  get hasText(): boolean {
    return this.#hasText;
  }

  /** Adds an event to the log's next write. */
  push(event: ProviderEvent): void {
    if (event.case === "outputTextDelta") this.#hasText = true;
    this.#waiting.push(event);
    this.#writing ??= this.#write();
  }

  /** Resolves when few enough events wait: the back-pressure of everything that makes events. */
  async room(): Promise<void> {
    if (this.#waiting.length > ENOUGH) await this.flush();
  }

  /** Resolves when all events so far are stored; rejects with what refused one of them. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#failed !== undefined) throw this.#failed.error;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0 && this.#failed === undefined) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#context.emit(batch);
      } catch (error) {
        this.#failed = { error };
      }
    }
    this.#writing = undefined;
  }
}
