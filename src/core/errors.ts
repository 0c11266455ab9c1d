import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";

/** Why a command was refused: every value of the contract's `ErrorReason` but UNSPECIFIED. */
export type Reason = Exclude<ErrorReason, ErrorReason.UNSPECIFIED>;

/** One field of a request that breaks a rule, as `google.rpc.BadRequest` carries it. */
export interface FieldViolation {
  /** The field's path in the request, in snake_case, such as `budgets.max_tokens`. */
  readonly field: string;
  /** What is wrong and how to mend it. */
  readonly description: string;
}

/** What may accompany a {@link HarnessError}. */
export interface HarnessErrorDetails extends ErrorOptions {
  /** The fields at fault; only for VALIDATION_ERROR. */
  readonly violations?: readonly FieldViolation[];
  /** How long to wait before trying again, in milliseconds; only for UNAVAILABLE reasons. */
  readonly retryMs?: number;
}

/**
 * The one error of everything below the server: a reason of the contract, a
 * message that names the thing and the way out, and everything variable again
 * in `metadata` (snake_case keys, string values). `src/server/errors.ts` is the
 * only place that turns it into an RPC error.
 */
export class HarnessError extends Error {
  override readonly name = "HarnessError";
  readonly reason: Reason;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly FieldViolation[];
  readonly retryMs: number | undefined;

  constructor(
    reason: Reason,
    message: string,
    metadata: Readonly<Record<string, string>> = {},
    details: HarnessErrorDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = reason;
    this.metadata = metadata;
    this.violations = details.violations ?? [];
    this.retryMs = details.retryMs;
  }
}

/** Returns whether `error` is a {@link HarnessError}, of the given reason where one is named. */
export function isHarnessError(error: unknown, reason?: Reason): error is HarnessError {
  return error instanceof HarnessError && (reason === undefined || error.reason === reason);
}

/** The error for a resource that does not exist, or belongs to another tenant: the same words for both. */
export function notFound(resource: string, id: string, reason: Reason = ErrorReason.NOT_FOUND): HarnessError {
  return new HarnessError(reason, `no ${resource} has the ID ${JSON.stringify(id)}`, { resource, id });
}

/** The error for one request field that breaks a rule. `field` is its snake_case path. */
export function invalid(field: string, description: string): HarnessError {
  return new HarnessError(
    ErrorReason.VALIDATION_ERROR,
    `${field}: ${description}`,
    { field },
    { violations: [{ field, description }] },
  );
}
