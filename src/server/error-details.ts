import { create, createRegistry, type DescMessage, type Message } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type BadRequest,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/ts/google/rpc/error_details_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { cutText } from "../core/cut-text.js";
import type { FieldViolation, HarnessError } from "../core/errors.js";

/** `ErrorInfo.domain` of every error that is ours. */
export const ERROR_DOMAIN = "harnessruntime";

/**
 * gRPC sends an error in trailers, of which most clients take 8 KiB: the message
 * percent-encoded (up to three bytes for one), the details and the message again
 * in base64. Longer errors would arrive as another error, so they are cut.
 */
const MAX_MESSAGE_BYTES = 512;
const MAX_METADATA_BYTES = 2_048;
const MAX_VIOLATIONS_BYTES = 1_536;

/** What JSON needs to know to write a detail that stands in a `google.protobuf.Any`. */
export const DETAIL_TYPES = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema);

/** One detail, as the RPC library takes it. */
export interface ErrorDetail {
  readonly desc: DescMessage;
  readonly value: Message;
}

/** Returns the error's message, cut to what fits. */
export function errorMessage(error: HarnessError): string {
  return cutText(error.message, MAX_MESSAGE_BYTES).text;
}

/** Returns what accompanies the error: always an ErrorInfo, then a BadRequest and a RetryInfo where it has one. */
export function errorDetails(error: HarnessError): ErrorDetail[] {
  const details: ErrorDetail[] = [{ desc: ErrorInfoSchema, value: errorInfo(error) }];
  if (error.violations.length > 0) details.push({ desc: BadRequestSchema, value: badRequest(error.violations) });
  if (error.retryMs !== undefined) {
    const retryDelay = durationFromMs(error.retryMs);
    details.push({ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay }) });
  }
  return details;
}

function errorInfo({ reason, metadata }: HarnessError): ErrorInfo {
  const fitting: Record<string, string> = {};
  let left = MAX_METADATA_BYTES;
  for (const [key, value] of Object.entries(metadata)) {
    const { text } = cutText(value, Math.max(left - key.length, 0));
    fitting[key] = text;
    left -= key.length + Buffer.byteLength(text);
  }
  return create(ErrorInfoSchema, { reason: ErrorReason[reason], domain: ERROR_DOMAIN, metadata: fitting });
}

function badRequest(violations: readonly FieldViolation[]): BadRequest {
  const fieldViolations: FieldViolation[] = [];
  let left = MAX_VIOLATIONS_BYTES;
  for (const { field, description } of violations) {
    left -= Buffer.byteLength(field) + Buffer.byteLength(description);
    if (left < 0 && fieldViolations.length > 0) break;
    fieldViolations.push({
      field: cutText(field, MAX_VIOLATIONS_BYTES / 3).text,
      description: cutText(description, MAX_VIOLATIONS_BYTES / 3).text,
    });
  }
  return create(BadRequestSchema, { fieldViolations });
}
