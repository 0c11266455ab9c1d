import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Clock } from "./clock.js";
import { isHarnessError } from "./errors.js";
import type { Decide, Writer } from "./writer.js";

/** The longest pause between tries while the store fails, in milliseconds. */
const LONGEST_PAUSE_MS = 5_000;

/**
 * Decides as an execution's owner, and again while the store fails: an execution
 * ends with an event, or is taken up by the next start. `isAbandoned` ends the
 * trying; FENCED and refusals are thrown at once.
 */
export async function decideAsOwner<T>(
  writer: Writer,
  fence: number,
  clock: Clock,
  isAbandoned: () => boolean,
  decide: Decide<T>,
): Promise<T> {
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await writer.decide(decide, fence);
    } catch (error) {
      if (!isHarnessError(error, ErrorReason.STORE_UNAVAILABLE) || isAbandoned()) throw error;
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    }
  }
}
