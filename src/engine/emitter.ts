import type { ProviderContext, ProviderEvent } from "../core/provider.js";

/** With more events than this waiting, {@link Emitter.room} waits. */
const ENOUGH = 256;

/**
 * Appends a turn's events in order without making the driver wait for each. What
 * comes in one turn of the event loop goes together, and so does what gathers
 * while a write is under way; {@link Emitter.flush} waits for neither.
 */
export class Emitter {
  readonly #context: ProviderContext;
  readonly #texts: string[] | undefined;
  #waiting: ProviderEvent[] = [];
  #armed = false;
  #writing: Promise<void> | undefined;
  #failed: { readonly error: unknown } | undefined;
  #hasText = false;

  /** `texts` takes a copy of each piece of text. */
  constructor(context: ProviderContext, texts?: string[]) {
    this.#context = context;
    this.#texts = texts;
  }

  /** Whether any text was emitted. */
  get hasText(): boolean {
    return this.#hasText;
  }

  /** Adds an event to the log's next write. */
  push(event: ProviderEvent): void {
    if (event.case === "outputTextDelta") {
      this.#hasText = true;
      this.#texts?.push(event.value.text ?? "");
    }
    this.#waiting.push(event);
    if (this.#armed || this.#writing !== undefined) return;
    this.#armed = true;
    setImmediate(() => {
      this.#armed = false;
      this.#begin();
    });
  }

  /** Resolves when few enough events wait: the back-pressure of everything that makes events. */
  async room(): Promise<void> {
    if (this.#waiting.length > ENOUGH) await this.flush();
  }

  /** Stores all events so far and resolves when they are; rejects with what refused one of them. */
  async flush(): Promise<void> {
    this.#begin();
    while (this.#writing !== undefined) await this.#writing;
    if (this.#failed !== undefined) throw this.#failed.error;
  }

  /** Nothing is written after a refusal: the turn ends with it. */
  #begin(): void {
    if (this.#waiting.length > 0 && this.#failed === undefined) this.#writing ??= this.#write();
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
