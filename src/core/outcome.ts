import { fromJson, isMessage, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { ActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import { UsageSchema } from "../../gen/ts/harnessruntime/v1/usage_pb.js";
import { inputAction } from "./action-desk.js";
import { notFinite } from "./check-emission.js";
import { cutText } from "./cut-text.js";
import type { Failure, Success } from "./decide-run.js";
import { MAX_DESCRIPTOR_BYTES, MAX_OUTPUT_BYTES, MAX_STRUCTURED_BYTES } from "./limits.js";
import type { ActionInit, Evaluation, TurnOutcome } from "./provider.js";
import { ProviderLostError } from "./provider-lost.js";
import { compile } from "./schema.js";
import { toUsage } from "./usage.js";
import { wellFormed } from "./well-formed.js";

/** What a turn's outcome comes to, once it is checked. */
export type TurnEnd =
  | { readonly kind: "succeeded"; readonly success: Success }
  | { readonly kind: "awaiting"; readonly evaluation: Evaluation; readonly request: Omit<ActionInit, "kind"> }
  | { readonly kind: "failed"; readonly failure: Failure };

/** The text that a turn emitted, cut to what an output may be. */
export interface TurnText {
  readonly text: string;
  readonly truncated: boolean;
}

/**
 * Returns what a provider's return value comes to. Nothing at all is success with
 * the text that was emitted; anything that is not a {@link TurnOutcome} fails
 * with PROVIDER_PROTOCOL_VIOLATION, a structured output over 64 KiB with
 * OUTPUT_TOO_LARGE.
 */
export function checkOutcome(outcome: unknown, emitted: TurnText): TurnEnd {
  if (outcome === undefined || outcome === null) return succeeded({ status: "succeeded" }, emitted);
  if (typeof outcome !== "object") return malformed(`it returned a ${typeof outcome}`);
  return checkObject(wellFormed(outcome), emitted);
}

function checkObject(outcome: object, emitted: TurnText): TurnEnd {
  const { status, usage } = outcome as Partial<TurnOutcome>;
  if (usage !== undefined && !isUsage(usage)) return malformed("its usage is not one");
  switch (status) {
    case "succeeded":
      return succeeded(outcome as Extract<TurnOutcome, { status: "succeeded" }>, emitted);
    case "failed":
      return failed(outcome as Extract<TurnOutcome, { status: "failed" }>);
    case "cancelled":
      return {
        kind: "failed",
        failure: { reason: FailureReason.PROVIDER_ERROR, message: "the provider ended the turn as cancelled, unasked" },
      };
    case "awaiting_input":
      return awaiting(outcome as Extract<TurnOutcome, { status: "awaiting_input" }>);
    default:
      return malformed(`its status is ${JSON.stringify(status)}`);
  }
}

/** The failure of a provider that broke the contract. */
export function violation(message: string): Failure {
  return { reason: FailureReason.PROVIDER_PROTOCOL_VIOLATION, message };
}

/** The failure for what a provider threw; it always has a message. */
export function thrown(error: unknown): Failure {
  const message = messageOf(error);
  const reason = error instanceof ProviderLostError ? FailureReason.PROVIDER_LOST : FailureReason.PROVIDER_ERROR;
  return { reason, message: message || "the provider threw an error without a message" };
}

/** Returns an error's message; whatever was thrown instead of an error, in words. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return String(error.message);
  try {
    return String(error);
  } catch {
    return "the provider threw something that has no form as text";
  }
}

function malformed(what: string): TurnEnd {
  return { kind: "failed", failure: notAnOutcome(what) };
}

function notAnOutcome(what: string): Failure {
  return violation(`the provider returned no turn outcome: ${what}`);
}

type Succeeded = Extract<TurnOutcome, { status: "succeeded" }>;

function succeeded(outcome: Succeeded, emitted: TurnText): TurnEnd {
  const failure = checkSuccess(outcome);
  if (failure !== undefined) return { kind: "failed", failure };
  const { finalOutput, structuredOutput, usage, evaluation } = outcome;
  if (evaluation?.action === CompletionAction.AWAIT_INPUT) {
    return { kind: "awaiting", evaluation, request: { key: "", title: evaluation.instruction ?? evaluation.reason } };
  }
  const output = finalOutput === undefined ? emitted : cutText(finalOutput, MAX_OUTPUT_BYTES);
  const success: Success = {
    finalOutput: output.text,
    truncated: output.truncated,
    ...(structuredOutput === undefined ? {} : { structuredOutput }),
    ...(usage === undefined ? {} : { usage }),
    ...(evaluation === undefined ? {} : { evaluation }),
  };
  return { kind: "succeeded", success };
}

function checkSuccess({ finalOutput, structuredOutput, evaluation }: Succeeded): Failure | undefined {
  if (finalOutput !== undefined && typeof finalOutput !== "string")
    return notAnOutcome("its finalOutput is not a string");
  if (evaluation !== undefined && CompletionAction[evaluation.action] === undefined) {
    return notAnOutcome("its evaluation has no action");
  }
  if (structuredOutput === undefined) return undefined;
  const wrong = notFinite(structuredOutput, 0);
  return wrong === undefined
    ? checkStructured(structuredOutput)
    : violation(`the structured output is not JSON: ${wrong}`);
}

function failed({ message, reason }: Extract<TurnOutcome, { status: "failed" }>): TurnEnd {
  if (typeof message !== "string") return malformed("its message is not a string");
  const known =
    typeof reason === "number" && FailureReason[reason] !== undefined && reason !== FailureReason.UNSPECIFIED;
  return {
    kind: "failed",
    failure: {
      reason: known ? reason : FailureReason.PROVIDER_ERROR,
      message: message || "the provider failed without a message",
    },
  };
}

function awaiting({ request }: Extract<TurnOutcome, { status: "awaiting_input" }>): TurnEnd {
  if (typeof request?.title !== "string") return malformed("it asks for input without a title");
  const wrong = notFinite(request, 0);
  if (wrong !== undefined) return malformed(`what it asks cannot be kept: ${wrong}`);
  try {
    const sizeBytes = toBinary(ActionRequestSchema, inputAction("", request)).length;
    if (sizeBytes > MAX_DESCRIPTOR_BYTES)
      return malformed(`what it asks is ${sizeBytes} bytes, more than ${MAX_DESCRIPTOR_BYTES}`);
    if (request.inputSchema !== undefined) compile(request.inputSchema);
  } catch (error) {
    return malformed(`what it asks cannot be kept: ${messageOf(error)}`);
  }
  const evaluation = { action: CompletionAction.AWAIT_INPUT, reason: "the provider asks for input" };
  return { kind: "awaiting", evaluation, request };
}

function checkStructured(output: JsonValue): Failure | undefined {
  let sizeBytes: number;
  try {
    const json = JSON.stringify(output, (_, part: unknown) => {
      if (typeof part === "number" && !Number.isFinite(part)) throw new TypeError("a number that is not finite");
      return part;
    });
    toBinary(ValueSchema, fromJson(ValueSchema, output));
    sizeBytes = Buffer.byteLength(json);
  } catch (error) {
    return violation(`the structured output is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (sizeBytes <= MAX_STRUCTURED_BYTES) return undefined;
  return {
    reason: FailureReason.OUTPUT_TOO_LARGE,
    message: `the structured output is ${sizeBytes} bytes and may be ${MAX_STRUCTURED_BYTES}; announce it as an artifact instead`,
  };
}

function isUsage(usage: NonNullable<TurnOutcome["usage"]>): boolean {
  if (typeof usage !== "object" || usage === null) return false;
  try {
    toBinary(UsageSchema, toUsage(usage));
  } catch {
    return false;
  }
  const counts = Object.values(isMessage(usage) ? { ...usage, $typeName: 0 } : usage);
  return counts.every((count) => typeof count !== "number" || count >= 0);
}
