import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { isHarnessError } from "./errors.js";
import type { Log } from "./provider.js";
import type { ExecutionKey } from "./store.js";
import type { Timers } from "./timers.js";

/** The first pause before a command is tried again while the store fails, and the longest, in milliseconds. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5_000;

/** What the clocks of an execution command: each is tried until the store can keep it. */
export class ClockCommands {
  readonly #timers: Timers;
  readonly #log: Log;
  readonly #key: ExecutionKey;

  /** Once `timers` are closed nothing is tried again. */
  constructor(timers: Timers, log: Log, key: ExecutionKey) {
    this.#timers = timers;
    this.#log = log;
    this.#key = key;
  }

  /** Runs a command, and again while the store cannot keep it. */
  run(command: () => Promise<unknown>): void {
    void this.#insist(command);
  }

  async #insist(command: () => Promise<unknown>): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    for (let tries = 1; !(await this.#settles(command, tries)); tries++) {
      await new Promise<void>((resolve) => void this.#timers.after(pauseMs, resolve)); // For ever where they are closed.
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Tries once; returns whether that is the end of it. */
  async #settles(command: () => Promise<unknown>, tries: number): Promise<boolean> {
    try {
      await command();
      return true;
    } catch (error) {
      const isLast = this.#timers.isClosed || !isHarnessError(error, ErrorReason.STORE_UNAVAILABLE);
      if (isLast || isWorthTelling(tries)) {
        this.#log.error({ executionId: this.#key.executionId, tries, error }, "a clock's command failed");
      }
      return isLast;
    }
  }
}

/** The first, the second, the fourth, and so on: a store may be away for days. */
function isWorthTelling(tries: number): boolean {
  return Number.isInteger(Math.log2(tries));
}
