import type { Failure } from "./decide-run.js";
import { type HaltCause, TurnAbortedError } from "./turn-aborted.js";

/** Why an execution does not go on: it was asked to stop, it fails, or this process lets go of it. */
export type Halt =
  | { readonly kind: "cancel" }
  | { readonly kind: "fail"; readonly failure: Failure }
  | { readonly kind: "abandon"; readonly why: "released" | "fenced" | "failed" };

/** Stops a runner: the first reason counts, but that letting go goes before all. */
export class HaltSwitch {
  readonly #waiting = new Set<() => void>();
  #halt: Halt | undefined;

  get halt(): Halt | undefined {
    return this.#halt;
  }

  /** Whether nothing more is written. */
  get isAbandoned(): boolean {
    return this.#halt?.kind === "abandon";
  }

  /** Gives a reason; returns whether it counts. */
  stop(halt: Halt): boolean {
    if (this.#halt !== undefined && (halt.kind !== "abandon" || this.isAbandoned)) return false;
    this.#halt = halt;
    for (const stop of this.#waiting) stop();
    this.#waiting.clear();
    return true;
  }

  /** Waits for `work`, or until there is a reason: then the result is undefined. Of work that has ended nothing is kept. */
  unlessHalted<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const stop = (): void => resolve(undefined);
      if (this.#halt === undefined) this.#waiting.add(stop);
      else stop();
      work.then(resolve, reject).finally(() => this.#waiting.delete(stop));
    });
  }
}

/** Returns what an execution ends for; without a reason to stop, the runtime lets go of it. */
export function haltCause(halt: Halt | undefined): HaltCause {
  if (halt?.kind === "fail") return "failed";
  if (halt?.kind === "cancel") return "cancelled";
  return halt?.why ?? "released";
}

/** What a turn's signal says for a reason to stop. */
export function haltError(halt: Halt): TurnAbortedError {
  if (halt.kind === "fail") return new TurnAbortedError("failed", halt.failure.message);
  if (halt.kind === "cancel") return new TurnAbortedError("cancelled", "the execution was cancelled");
  return new TurnAbortedError(halt.why, "the runtime let go of the execution");
}
