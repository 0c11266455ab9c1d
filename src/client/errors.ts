import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import type { Status } from "../../gen/ts/google/rpc/status_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";

/** The domain of every `google.rpc.ErrorInfo` of this API. */
const ERROR_DOMAIN = "harnessruntime";

/** One field of a request that breaks a rule. */
export interface FieldViolation {
  /** The field's path in the request, in snake_case. */
  readonly field: string;
  /** What is wrong and how to mend it. */
  readonly description: string;
}

/**
 * A call or a stream that failed, with what the server said of it in its error details. Its `message` begins with the
 * reason's name, where there is one; where there is none, its `cause` is what the transport threw.
 */
export class HarnessRpcError extends Error {
  override readonly name = "HarnessRpcError";
  /** The message without the reason's name. */
  readonly rawMessage: string;
  /** The RPC's code. */
  readonly code: Code;
  /** Why the server refused; UNSPECIFIED when the failure is not the server's own (network, proxy, cut stream). */
  readonly reason: ErrorReason;
  /** What the reason is about, with the keys that the contract names: strings. Empty when `reason` is UNSPECIFIED. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields at fault; only with VALIDATION_ERROR. */
  readonly violations: readonly FieldViolation[];
  /** How long the server asks to wait before trying again, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(rawMessage: string, code: Code, details: Partial<HarnessRpcErrorDetails> = {}) {
    const { reason = ErrorReason.UNSPECIFIED, cause } = details;
    const message = reason === ErrorReason.UNSPECIFIED ? rawMessage : `${ErrorReason[reason]}: ${rawMessage}`;
    super(message, cause === undefined ? undefined : { cause });
    this.rawMessage = rawMessage;
    this.code = code;
    this.reason = reason;
    this.metadata = details.metadata ?? {};
    this.violations = details.violations ?? [];
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** What may accompany a {@link HarnessRpcError}. */
export interface HarnessRpcErrorDetails {
  readonly reason: ErrorReason;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly FieldViolation[];
  readonly retryAfterMs: number | undefined;
  readonly cause: unknown;
}

/**
 * The log that arrived is not the log: an event is missing, or the stream went
 * backwards. Never retried, since what was shown before may be wrong as well.
 */
export class ContiguityError extends Error {
  override readonly name = "ContiguityError";

  constructor(
    message: string,
    /** The execution. */
    readonly executionId: string,
    /** The sequence that had to come next. */
    readonly expectedSequence: number,
    /** The sequence that came. */
    readonly receivedSequence: number,
  ) {
    super(message);
  }
}

/** Returns why the server refused, for anything thrown; undefined when the server did not say. */
export function reasonOf(error: unknown): ErrorReason | undefined {
  const reason = error instanceof Error ? toRpcError(error).reason : ErrorReason.UNSPECIFIED;
  return reason === ErrorReason.UNSPECIFIED ? undefined : reason;
}

/** Turns anything that a transport threw into a {@link HarnessRpcError}; one that is one already stays as it is. */
export function toRpcError(error: unknown): HarnessRpcError {
  if (error instanceof HarnessRpcError) return error;
  const cause = ConnectError.from(error);
  const info = cause.findDetails(ErrorInfoSchema).find(({ domain }) => domain === ERROR_DOMAIN);
  const [retry] = cause.findDetails(RetryInfoSchema);
  const reason = info === undefined ? ErrorReason.UNSPECIFIED : toReason(info.reason);
  return new HarnessRpcError(cause.rawMessage, cause.code, {
    reason,
    metadata: info?.metadata ?? {},
    violations: cause
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations.map(({ field, description }) => ({ field, description }))),
    retryAfterMs: retry?.retryDelay === undefined ? undefined : durationMs(retry.retryDelay),
    // What the server refused is said in full by then: printed, the cause would bury it.
    ...(reason === ErrorReason.UNSPECIFIED ? { cause: error } : {}),
  });
}

/** A reason that a newer server knows and this client does not counts as UNSPECIFIED; its name stays in `cause`. */
function toReason(name: string): ErrorReason {
  const reason: unknown = ErrorReason[name as keyof typeof ErrorReason];
  return typeof reason === "number" ? reason : ErrorReason.UNSPECIFIED;
}

/** The server's own reasons that go away by themselves. */
const PASSING: readonly ErrorReason[] = [
  ErrorReason.SEQUENCE_CONFLICT,
  ErrorReason.STORE_UNAVAILABLE,
  ErrorReason.SERVER_DRAINING,
  ErrorReason.RESUME_AFTER,
];

/** Codes that stay the same however often one asks, when no reason says more: a proxy or an older server answered. */
const LASTING: readonly Code[] = [
  Code.Unimplemented,
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.NotFound,
  Code.AlreadyExists,
  Code.FailedPrecondition,
  Code.OutOfRange,
];

/**
 * Returns whether the same call may succeed later, provided that sending it
 * twice is safe.
 *
 * What the server refused is told by its reason. Anything without one came
 * from the network or a proxy, where a cut shows as almost any code:
 * UNAVAILABLE, INTERNAL or INVALID_ARGUMENT for half a frame, CANCELED for a
 * reset, UNKNOWN from a browser.
 */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ContiguityError) return false;
  const { reason, code } = toRpcError(error);
  return reason === ErrorReason.UNSPECIFIED ? !LASTING.includes(code) : PASSING.includes(reason);
}

/** The error of a `google.rpc.Status` that came as data, as it does in the receipt of a refused command. */
export function fromStatus({ code, message, details }: Status): HarnessRpcError {
  const error = new ConnectError(message, code);
  error.details = details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }));
  return toRpcError(error);
}
