import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Clock } from "../../core/clock.js";
import type { RemoteAttempt } from "./attempt.js";

/** An attempt that a restart of the runtime left with an instance, which may come back with it. */
export interface Awaited {
  readonly attempt: number;
  /** The turn that it was in. */
  readonly knownTurn: number;
  /** The last position of its outbox that is stored. */
  readonly stored: number;
}

interface Waiting extends Awaited {
  readonly found: PromiseWithResolvers<RemoteAttempt | undefined>;
}

/** The attempts that are waited for after a restart of the runtime: first for their instance, then for a runner. */
export class AwaitedAttempts {
  readonly #waiting = new Map<string, Waiting>();
  /** Those that came back and that no runner has taken yet, with what ends the wait for it. */
  readonly #untaken = new Map<RemoteAttempt, () => void>();

  /** Waits until an instance comes with the execution; resolves with nothing once the signal is aborted. */
  async wait(
    { id, attempt, turn }: Execution,
    stored: number,
    signal: AbortSignal,
  ): Promise<RemoteAttempt | undefined> {
    if (signal.aborted) return undefined;
    const found = Promise.withResolvers<RemoteAttempt | undefined>();
    const waiting = { attempt, knownTurn: turn, stored, found };
    this.#waiting.set(id, waiting);
    signal.addEventListener("abort", () => found.resolve(undefined), { once: true });
    const placed = await found.promise;
    if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    return placed;
  }

  /** An instance says that it has an attempt: where it is waited for, `place` places it there. */
  found(executionId: string, attempt: number, place: (awaited: Awaited) => RemoteAttempt): void {
    const waiting = this.#waiting.get(executionId);
    if (waiting?.attempt !== attempt) return;
    this.#waiting.delete(executionId);
    const { knownTurn, stored, found } = waiting;
    found.resolve(place({ attempt, knownTurn, stored }));
  }

  /** Calls `giveUp` where no runner takes an attempt that came back within `limitMs` from now. */
  mustBeTaken(placed: RemoteAttempt, clock: Clock, limitMs: number, giveUp: () => void): void {
    this.forget(placed);
    const disarm = clock.after(limitMs, () => {
      this.#untaken.delete(placed);
      if (!placed.isTaken) giveUp();
    });
    this.#untaken.set(placed, disarm);
  }

  /** An attempt is over. */
  forget(placed: RemoteAttempt): void {
    this.#untaken.get(placed)?.();
    this.#untaken.delete(placed);
  }

  close(): void {
    for (const placed of [...this.#untaken.keys()]) this.forget(placed);
  }
}
