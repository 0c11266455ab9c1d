/** Numbers that the program ends with. */
export const EXIT = {
  /** Also: the execution SUCCEEDED. */
  ok: 0,
  /** Also: the execution FAILED. */
  failed: 1,
  usage: 2,
  /** The execution is CANCELLED. */
  cancelled: 3,
  /** How the execution ends could not be learned: no runtime answers, or the time is over. */
  unknown: 4,
  /** Ctrl-C left an execution running. */
  detached: 130,
} as const;

/** Ends the program with one line on standard error, and a second one where there is a hint. */
export class CliError extends Error {
  override readonly name = "CliError";

  constructor(
    message: string,
    readonly exitCode: number = EXIT.failed,
    readonly hint: string | undefined = undefined,
  ) {
    super(message);
  }
}

/** The error for a command line that cannot be understood. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError(message, EXIT.usage, hint);
}
