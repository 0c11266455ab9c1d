import { setMaxListeners } from "node:events";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../core/errors.js";

/** How long a caller should wait before it calls again, probably another process, in milliseconds. */
const RETRY_MS = 1_000;

/** Whether a server is going away, and how its streams learn of it. */
export interface Drain {
  readonly begun: boolean;
  /** Aborted when it begins. Not for every call: each listener makes the next one dearer. */
  readonly signal: AbortSignal;
  begin(): void;
  /** Calls `run` when it begins, or at once where it has begun; the returned function takes that back. */
  onBegin(run: () => void): () => void;
}

export function createDrain(): Drain {
  const controller = new AbortController();
  const waiting = new Set<() => void>();
  setMaxListeners(0, controller.signal);
  return {
    get begun() {
      return controller.signal.aborted;
    },
    signal: controller.signal,
    begin() {
      controller.abort(serverDraining());
      for (const run of waiting) run();
    },
    onBegin(run) {
      if (controller.signal.aborted) run();
      else waiting.add(run);
      return () => waiting.delete(run);
    },
  };
}

/** The refusal of a call that would last. */
export function serverDraining(): HarnessError {
  return new HarnessError(
    ErrorReason.SERVER_DRAINING,
    "the server is shutting down: call again",
    {},
    { retryMs: RETRY_MS },
  );
}

/** The end of an event stream that goes on elsewhere. */
export function resumeAfter(afterSequence: number): HarnessError {
  return new HarnessError(
    ErrorReason.RESUME_AFTER,
    `the server is shutting down: watch again after sequence ${afterSequence}`,
    { after_sequence: String(afterSequence) },
    { retryMs: RETRY_MS },
  );
}
