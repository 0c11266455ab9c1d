/**
 * What a turn ends for before its provider returned: `replaced` by a new input;
 * the execution was `cancelled` or `failed`; this runtime closes and has `released`
 * it, so that the next start goes on with it; or another runtime owns it now and
 * this one is `fenced`. `over` follows its terminal event.
 */
export type TurnAbortCause = "replaced" | "cancelled" | "failed" | "released" | "fenced" | "over";

/** What an execution, and not just its turn, ends for here. */
export type HaltCause = Exclude<TurnAbortCause, "replaced" | "over">;

/** The reason of a turn's signal. */
export class TurnAbortedError extends Error {
  override readonly name = "TurnAbortedError";

  constructor(
    /** Why. */
    readonly why: TurnAbortCause,
    message: string,
  ) {
    super(message);
  }
}

/** Returns why a turn's signal is aborted; undefined where it is not, or for a reason of another kind. */
export function abortCause(signal: AbortSignal): TurnAbortCause | undefined {
  return signal.reason instanceof TurnAbortedError ? signal.reason.why : undefined;
}
