import { createHash } from "node:crypto";
import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Content, ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import {
  type StartExecutionRequest,
  StartExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { checkTimes } from "./preflight.js";

/**
 * The digest of a start request as it was sent: equal for equivalent requests.
 * Required capabilities are a set, the order of object keys does not count, the
 * order of arrays does, and the idempotency key is no part of it.
 */
export function startDigest(request: StartExecutionRequest): string {
  checkTimes(request);
  const { idempotencyKey: _, ...rest } = request;
  const requiredCapabilities = [...new Set(request.requiredCapabilities)].sort();
  const same = create(StartExecutionRequestSchema, { ...rest, requiredCapabilities });
  return digest(toJson(StartExecutionRequestSchema, same));
}

/** The digest of an input: equal for equivalent ones. */
export function inputDigest(content: Content, mode: InputMode): string {
  return digest([mode, toJson(ContentSchema, content)]);
}

/** SHA-256, in hexadecimal, of the JSON with its object keys in order. */
export function digest(json: JsonValue): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(json)))
    .digest("hex");
}

function sorted(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(sorted);
  if (typeof json !== "object" || json === null) return json;
  const entries = Object.entries(json).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, value]) => [key, sorted(value)]));
}
