import { randomBytes } from "node:crypto";
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { type Status, StatusSchema } from "../../gen/ts/google/rpc/status_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError, invalid, type Reason } from "../core/errors.js";
import type { Log } from "../core/provider.js";
import { errorDetails, errorMessage } from "./error-details.js";

/** The RPC code of each reason. A reason without one does not compile. */
export const CODES: Readonly<Record<Reason, Code>> = {
  [ErrorReason.VALIDATION_ERROR]: Code.InvalidArgument,
  [ErrorReason.NOT_FOUND]: Code.NotFound,
  [ErrorReason.PROVIDER_NOT_FOUND]: Code.NotFound,
  [ErrorReason.ACTION_NOT_FOUND]: Code.NotFound,
  [ErrorReason.CAPABILITY_UNSUPPORTED]: Code.FailedPrecondition,
  [ErrorReason.INVALID_STATE]: Code.FailedPrecondition,
  [ErrorReason.ACTION_ALREADY_RESOLVED]: Code.FailedPrecondition,
  [ErrorReason.ACTION_CLOSED]: Code.FailedPrecondition,
  [ErrorReason.INPUT_MODE_UNSUPPORTED]: Code.FailedPrecondition,
  [ErrorReason.PROTOCOL_VERSION_UNSUPPORTED]: Code.FailedPrecondition,
  [ErrorReason.IDEMPOTENCY_CONFLICT]: Code.AlreadyExists,
  [ErrorReason.CURSOR_AHEAD]: Code.OutOfRange,
  [ErrorReason.CURSOR_EXPIRED]: Code.OutOfRange,
  [ErrorReason.CONVERSATION_CONFLICT]: Code.Aborted,
  [ErrorReason.SEQUENCE_CONFLICT]: Code.Aborted,
  [ErrorReason.FENCED]: Code.Aborted,
  [ErrorReason.INPUT_QUEUE_FULL]: Code.ResourceExhausted,
  [ErrorReason.QUOTA_EXCEEDED]: Code.ResourceExhausted,
  [ErrorReason.EVENT_TOO_LARGE]: Code.ResourceExhausted,
  [ErrorReason.REQUEST_TOO_LARGE]: Code.ResourceExhausted,
  [ErrorReason.PROVIDER_UNAVAILABLE]: Code.Unavailable,
  [ErrorReason.STORE_UNAVAILABLE]: Code.Unavailable,
  [ErrorReason.SERVER_DRAINING]: Code.Unavailable,
  [ErrorReason.RESUME_AFTER]: Code.Unavailable,
  [ErrorReason.UNAUTHENTICATED]: Code.Unauthenticated,
  [ErrorReason.PERMISSION_DENIED]: Code.PermissionDenied,
  [ErrorReason.INTERNAL]: Code.Internal,
};

/** Turns whatever was thrown into what the caller may see. */
export interface ErrorConverter {
  /**
   * Returns the RPC error: a HarnessError with its details, the RPC library's
   * own error as it is (but for a request that it could not decode). Anything
   * else is a bug, and so is INTERNAL: it is logged under a fresh ID, and the
   * caller gets that ID alone. `where` names the call in the log.
   */
  toRpcError(error: unknown, where: string): ConnectError;
  /** The same as a message, for an error that does not end its stream. */
  toStatus(error: unknown, where: string): Status;
}

/** `nextErrorId` makes the IDs of internal errors; default: 64 random bits in hexadecimal. */
export function createErrorConverter(log: Log, nextErrorId: () => string = randomErrorId): ErrorConverter {
  const toRpcError = (error: unknown, where: string): ConnectError => {
    if (error instanceof ConnectError) return unreadable(error) ?? error;
    if (error instanceof HarnessError && error.reason !== ErrorReason.INTERNAL) return fromHarnessError(error);
    if (isAbort(error)) return new ConnectError("the call was cancelled", Code.Canceled);
    const errorId = nextErrorId();
    log.error({ error_id: errorId, rpc: where, error: describe(error) }, "internal error");
    return fromHarnessError(
      new HarnessError(ErrorReason.INTERNAL, `internal error; the server's log has it under ${errorId}`, {
        error_id: errorId,
      }),
    );
  };
  return {
    toRpcError,
    toStatus(error, where) {
      const { code, rawMessage, details } = toRpcError(error, where);
      return create(StatusSchema, {
        code,
        message: rawMessage,
        details: details.flatMap((detail) =>
          "desc" in detail
            ? [anyPack(detail.desc, create(detail.desc, detail.value as MessageInitShape<DescMessage>))]
            : [],
        ),
      });
    },
  };
}

/** Turns what handlers throw, at once or in mid-stream, into RPC errors. */
export function convertErrors(errors: ErrorConverter): Interceptor {
  return (next) => async (request) => {
    try {
      const response = await next(request);
      if (!response.stream) return response;
      const { message } = response;
      return { ...response, message: convertStream(message, errors, request.method.name) };
    } catch (error) {
      throw errors.toRpcError(error, request.method.name);
    }
  };
}

/** Not a generator: an idle stream keeps what it is made of. */
function convertStream<T>(messages: AsyncIterable<T>, errors: ErrorConverter, where: string): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const inner = messages[Symbol.asyncIterator]();
      const rethrow = (error: unknown): never => {
        throw errors.toRpcError(error, where);
      };
      return {
        next: () => inner.next().catch(rethrow),
        throw: (reason: unknown) => inner.throw?.(reason) ?? Promise.reject(reason),
        return: (value: unknown) => inner.return?.(value) ?? Promise.resolve({ done: true, value }),
      };
    },
  };
}

/** Returns the RPC error for `error`, with its reason and metadata as `google.rpc` details. */
export function fromHarnessError(error: HarnessError): ConnectError {
  return new ConnectError(errorMessage(error), CODES[error.reason], undefined, errorDetails(error), error);
}

/** Errors of the RPC library for a request that it cannot read; their code is Internal, as if the server were at fault. */
const UNREADABLE = /^(?:parse binary: |received compressed envelope|decompression failed)/;
/** Its error for a message over the limit. */
const TOO_LARGE = /larger than configured readMaxBytes (\d+)/;

/** Returns what a caller should see instead of the RPC library's error for a request that cannot be read; undefined for others. */
export function unreadable({ code, rawMessage, details }: ConnectError): ConnectError | undefined {
  if (details.length > 0) return undefined;
  const limit = TOO_LARGE.exec(rawMessage)?.[1];
  if (limit !== undefined) return fromHarnessError(requestTooLarge(limit));
  const isCallers = code === Code.InvalidArgument || (code === Code.Internal && UNREADABLE.test(rawMessage));
  return isCallers ? fromHarnessError(invalid("request", `cannot be read: ${rawMessage}`)) : undefined;
}

function requestTooLarge(maxBytes: string): HarnessError {
  return new HarnessError(ErrorReason.REQUEST_TOO_LARGE, `a request message is at most ${maxBytes} bytes`, {
    max_request_bytes: maxBytes,
  });
}

/** What Node says, by code, where a caller closed or reset its stream, or its connection broke; others' connections say more. */
const GONE: Readonly<Record<string, RegExp>> = {
  ERR_STREAM_PREMATURE_CLOSE: /^/,
  ERR_HTTP2_STREAM_ERROR: /NGHTTP2_CANCEL/,
  ECONNRESET: /^aborted$/,
};

function isAbort(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === "AbortError") return true;
  return "code" in error && GONE[String(error.code)]?.test(error.message) === true;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
}

/** Returns 64 random bits in hexadecimal. */
export function randomErrorId(): string {
  return randomBytes(8).toString("hex");
}
