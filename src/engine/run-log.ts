import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError, invalid } from "../core/errors.js";
import { deepFreeze } from "./definition.js";
import { HarnessEventGapError } from "./errors.js";
import type { HarnessEvent } from "./event.js";

/** One event: at hand, or still as it is stored. */
type Slot = () => HarnessEvent;

/**
 * The events of one run as its viewers see them: all of them, or the last
 * `capacity`. What nobody looks at is never decoded.
 */
export class RunLog {
  readonly #capacity: number;
  readonly #slots: Slot[] = [];
  /** The sequence of the oldest event that is kept. */
  #first = 1;
  #phase:
    | { readonly name: "live" }
    | { readonly name: "ended" }
    | { readonly name: "failed"; readonly error: unknown } = {
    name: "live",
  };
  #changed = Promise.withResolvers<void>();

  constructor(capacity: number | undefined) {
    this.#capacity = capacity ?? Number.POSITIVE_INFINITY;
  }

  /** The sequence of the newest event; 0 before the first. */
  get head(): number {
    return this.#first + this.#slots.length - 1;
  }

  /** Adds the next event. */
  push(event: HarnessEvent): void {
    const frozen = deepFreeze(event);
    this.#add(() => frozen);
    this.#wake();
  }

  /** Adds the next `count` events; `decode` gives them, and is called once, when the first of them is looked at. */
  defer(count: number, decode: () => readonly HarnessEvent[]): void {
    let events: readonly HarnessEvent[] | undefined;
    const decoded = (): readonly HarnessEvent[] => {
      events ??= decode().map(deepFreeze);
      return events;
    };
    for (let index = 0; index < count; index++) this.#add(() => mustEvent(decoded()[index]));
    this.#wake();
  }

  #add(slot: Slot): void {
    this.#slots.push(slot);
    if (this.#slots.length <= this.#capacity) return;
    this.#slots.shift();
    this.#first++;
  }

  /** No event follows. */
  end(): void {
    this.#phase = { name: "ended" };
    this.#wake();
  }

  /** The log cannot be followed any further: viewers that reach its head fail with this. */
  fail(error: unknown): void {
    this.#phase = { name: "failed", error };
    this.#wake();
  }

  /**
   * Opens a viewer after a cursor. Fails at once with VALIDATION_ERROR or CURSOR_AHEAD
   * where the cursor is out of range; later with {@link HarnessEventGapError} where
   * the viewer falls behind what is kept.
   */
  view(after: number): AsyncGenerator<HarnessEvent> {
    if (!Number.isSafeInteger(after) || after < 0)
      throw invalid("after", `${after} is not a cursor; it must be an integer from 0`);
    if (after > this.head) {
      throw new HarnessError(ErrorReason.CURSOR_AHEAD, `the cursor ${after} is beyond the last event ${this.head}`, {
        head_sequence: String(this.head),
      });
    }
    return this.#follow(after);
  }

  async *#follow(after: number): AsyncGenerator<HarnessEvent> {
    let cursor = after;
    for (;;) {
      if (cursor < this.#first - 1) throw new HarnessEventGapError(this.#first - 1);
      const slot = this.#slots[cursor - this.#first + 1];
      if (slot !== undefined) {
        cursor++;
        yield slot();
      } else if (this.#phase.name === "live") {
        await this.#changed.promise;
      } else if (this.#phase.name === "failed") {
        throw this.#phase.error;
      } else {
        return;
      }
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

function mustEvent(event: HarnessEvent | undefined): HarnessEvent {
  if (event === undefined) throw new Error("the log has fewer events than it says");
  return event;
}
