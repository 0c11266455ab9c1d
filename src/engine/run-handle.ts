import type { HarnessEvent } from "./event.js";
import type { HarnessGrants } from "./grants.js";
import type { HarnessIdentity, HarnessSendMode, RunMode } from "./identity.js";
import type { MessageContent } from "./message.js";
import type { HarnessResult } from "./result.js";

/** How to start a run. */
export interface HarnessStartOptions {
  /** For whom; trusted. */
  identity: HarnessIdentity;
  /** Names the conversation among those of the tenant and user; made where there is none. */
  sessionId: string;
  /** The run that starts this one: a run of the same runtime takes it along when it is cancelled. */
  parentRunId?: string;
  /** Default: the parent's root, else the run itself. */
  rootRunId?: string;
  /** Cancels the run. */
  signal?: AbortSignal;
  /** Milliseconds since 1970-01-01 UTC; after it the run fails with `deadline_exceeded`. */
  deadline?: number;
  /** At most what the host grants. Default: all of it. */
  grants?: HarnessGrants;
  /** Default `execute`. */
  runMode?: RunMode;
  /** What to do while another run has the session. Default: the runtime's. */
  onConflict?: "refuse" | "queue";
}

/** A run that was started: it goes on whether or not anybody looks. */
export interface RunHandle {
  readonly runId: string;
  /**
   * Opens a viewer of the run's events after a cursor (default 0: from the first).
   * Throws at once where the cursor is out of range. Ends after the terminal event;
   * leaving it changes nothing about the run.
   */
  events(options?: { after?: number }): AsyncGenerator<HarnessEvent>;
  /** Resolves when the run and all its owned work are over; never rejects for how the run went. */
  result(): Promise<HarnessResult>;
  /** Asks to stop; the first reason counts. Nothing on a run that is over. */
  cancel(reason?: string): void;
  /**
   * Sends an input to the run; resolves when it is recorded. Rejects with
   * {@link HarnessUnsupportedError} for a mode that the driver does not declare,
   * with INVALID_STATE where the run takes no more, with INPUT_QUEUE_FULL beyond 32.
   */
  send(input: MessageContent, options: { mode: HarnessSendMode }): Promise<void>;
}
