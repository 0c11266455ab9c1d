import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../../../gen/ts/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "../../../gen/ts/google/rpc/status_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { cutText } from "../../core/cut-text.js";
import { HarnessError } from "../../core/errors.js";
import { ProtocolViolationError } from "../../core/violation.js";

/** The RPC codes of what an outbox's message may be refused for. */
const CODES: Readonly<Record<number, number>> = {
  [ErrorReason.VALIDATION_ERROR]: 3,
  [ErrorReason.EVENT_TOO_LARGE]: 8,
  [ErrorReason.FENCED]: 10,
};
const INTERNAL = 13;
const MAX_MESSAGE_BYTES = 1024;

/** Returns why a message was refused, as it is sent. A violation is a VALIDATION_ERROR that names the failure. */
export function toStatus(error: unknown): Status {
  if (error instanceof HarnessError) return status(error.reason, error.message, error.metadata);
  if (error instanceof ProtocolViolationError) {
    const metadata = { failure_reason: "PROVIDER_PROTOCOL_VIOLATION" };
    return status(ErrorReason.VALIDATION_ERROR, error.message, metadata);
  }
  return status(ErrorReason.INTERNAL, "the runtime could not take the message", {});
}

/** Says that an attempt is not, or no longer, the instance's. */
export function fenced(executionId: string, attempt: number): Status {
  return status(
    ErrorReason.FENCED,
    `attempt ${attempt} of execution ${executionId} is not this instance's: stop its work and send nothing more for it`,
    { execution_id: executionId, attempt: String(attempt) },
  );
}

function status(reason: ErrorReason, message: string, metadata: Readonly<Record<string, string>>): Status {
  const info = create(ErrorInfoSchema, { reason: ErrorReason[reason], domain: "harnessruntime", metadata });
  return create(StatusSchema, {
    code: CODES[reason] ?? INTERNAL,
    message: cutText(message, MAX_MESSAGE_BYTES).text,
    details: [anyPack(ErrorInfoSchema, info)],
  });
}
