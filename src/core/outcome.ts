import { fromJson, isMessage, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { ActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import { type Usage, UsageSchema } from "../../gen/ts/harnessruntime/v1/usage_pb.js";
import { inputAction } from "./action-desk.js";
import { supports } from "./capability.js";
import { notFinite } from "./check-emission.js";
import { cutText } from "./cut-text.js";
import type { Failure, Success } from "./decide-run.js";
import { MAX_DESCRIPTOR_BYTES, MAX_KEY_LENGTH, MAX_OUTPUT_BYTES, MAX_STRUCTURED_BYTES } from "./limits.js";
import { messageOf } from "./message-of.js";
import type { ActionInit, Evaluation, TurnOutcome } from "./provider.js";
import { ProviderLostError } from "./provider-lost.js";
import { compile } from "./schema.js";
import { toUsage } from "./usage.js";
import { wellFormed } from "./well-formed.js";

/** What a turn's outcome comes to, once it is checked. */
export type TurnEnd =
  | { readonly kind: "succeeded"; readonly success: Success }
  | Awaiting
  | { readonly kind: "failed"; readonly failure: Failure };

interface Awaiting {
  readonly kind: "awaiting";
  readonly evaluation: Evaluation;
  /** The key is empty where a completion policy asks. */
  readonly request: Omit<ActionInit, "kind">;
  readonly usage?: Usage;
}

/** The text that a turn emitted, cut to what an output may be. */
export interface TurnText {
  readonly text: string;
  readonly truncated: boolean;
}

/**
 * Returns what a provider's return value comes to. Nothing at all is success with
 * the text that was emitted; anything that is not a {@link TurnOutcome}, or needs
 * a capability that the manifest does not have, fails with
 * PROVIDER_PROTOCOL_VIOLATION, a structured output over 64 KiB with OUTPUT_TOO_LARGE.
 */
export function checkOutcome(outcome: unknown, emitted: TurnText, manifest: ProviderManifest): TurnEnd {
  if (outcome === undefined || outcome === null) return succeeded({ status: "succeeded" }, emitted, manifest);
  if (typeof outcome !== "object") return malformed(`it returned a ${typeof outcome}`);
  const clean = wellFormed(outcome);
  const usage = usageIn(clean);
  if (usage === "malformed") return malformed("its usage is not one");
  const end = checkObject(clean, emitted, manifest);
  return usage === undefined ? end : withUsage(end, usage);
}

/** Returns the usage that a provider's return value reports, whatever else it says. */
export function reportedUsage(outcome: unknown): Usage | undefined {
  if (typeof outcome !== "object" || outcome === null) return undefined;
  try {
    const usage = usageIn(wellFormed(outcome));
    return usage === "malformed" ? undefined : usage;
  } catch {
    return undefined;
  }
}

function usageIn({ usage }: Partial<TurnOutcome>): Usage | "malformed" | undefined {
  if (usage === undefined) return undefined;
  return isUsage(usage) ? toUsage(usage) : "malformed";
}

function withUsage(end: TurnEnd, usage: Usage): TurnEnd {
  switch (end.kind) {
    case "succeeded":
      return { ...end, success: { ...end.success, usage } };
    case "failed":
      return { ...end, failure: { ...end.failure, usage } };
    case "awaiting":
      return { ...end, usage };
  }
}

function checkObject(outcome: object, emitted: TurnText, manifest: ProviderManifest): TurnEnd {
  const { status } = outcome as Partial<TurnOutcome>;
  switch (status) {
    case "succeeded":
      return succeeded(outcome as Succeeded, emitted, manifest);
    case "failed":
      return failed(outcome as Extract<TurnOutcome, { status: "failed" }>);
    case "cancelled":
      return {
        kind: "failed",
        failure: { reason: FailureReason.PROVIDER_ERROR, message: "the provider ended the turn as cancelled, unasked" },
      };
    case "awaiting_input":
      return asking(outcome as Extract<TurnOutcome, { status: "awaiting_input" }>, manifest);
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

function malformed(what: string): TurnEnd {
  return { kind: "failed", failure: notAnOutcome(what) };
}

function notAnOutcome(what: string): Failure {
  return violation(`the provider returned no turn outcome: ${what}`);
}

type Succeeded = Extract<TurnOutcome, { status: "succeeded" }>;

function succeeded(outcome: Succeeded, emitted: TurnText, manifest: ProviderManifest): TurnEnd {
  const failure = checkSuccess(outcome, manifest);
  if (failure !== undefined) return { kind: "failed", failure };
  const { finalOutput, structuredOutput, evaluation } = outcome;
  if (evaluation?.action === CompletionAction.AWAIT_INPUT) {
    return awaiting(evaluation, { key: "", title: evaluation.instruction ?? evaluation.reason }, manifest);
  }
  const output = finalOutput === undefined ? emitted : cutText(finalOutput, MAX_OUTPUT_BYTES);
  const success: Success = {
    finalOutput: output.text,
    truncated: output.truncated,
    ...(structuredOutput === undefined ? {} : { structuredOutput }),
    ...(evaluation === undefined ? {} : { evaluation }),
  };
  return { kind: "succeeded", success };
}

function checkSuccess(outcome: Succeeded, manifest: ProviderManifest): Failure | undefined {
  const { finalOutput, structuredOutput, evaluation } = outcome;
  if (finalOutput !== undefined && typeof finalOutput !== "string")
    return notAnOutcome("its finalOutput is not a string");
  const wrongly = evaluation === undefined ? undefined : checkEvaluation(evaluation, manifest);
  if (wrongly !== undefined) return wrongly;
  if (structuredOutput === undefined) return undefined;
  const wrong = notFinite(structuredOutput, 0);
  return wrong === undefined
    ? checkStructured(structuredOutput)
    : violation(`the structured output is not JSON: ${wrong}`);
}

function checkEvaluation(
  { action, reason, instruction = "" }: Evaluation,
  manifest: ProviderManifest,
): Failure | undefined {
  if (!supports(manifest, "policy.completion")) return lacks("an evaluation", "policy.completion");
  const isKnown = CompletionAction[action] !== undefined && action !== CompletionAction.UNSPECIFIED;
  if (!isKnown) return notAnOutcome("its evaluation has no action; use ACCEPT, REVISE, STOP or AWAIT_INPUT");
  const isText = typeof reason === "string" && typeof instruction === "string";
  return isText ? undefined : notAnOutcome("its evaluation's reason and instruction must be strings");
}

function lacks(what: string, capability: string): Failure {
  return violation(`${what} needs the capability ${capability}, which the manifest does not have`);
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

function asking({ request }: Extract<TurnOutcome, { status: "awaiting_input" }>, manifest: ProviderManifest): TurnEnd {
  const { key } = request ?? {};
  if (typeof key !== "string" || key === "" || key.length > MAX_KEY_LENGTH) {
    return malformed(`it asks for input, and the key of what it asks must have 1 to ${MAX_KEY_LENGTH} characters`);
  }
  const evaluation = { action: CompletionAction.AWAIT_INPUT, reason: "the provider asks for input" };
  return awaiting(evaluation, request, manifest);
}

/** What asks for input, by itself or as its completion policy says. */
function awaiting(evaluation: Evaluation, request: Awaiting["request"], manifest: ProviderManifest): TurnEnd {
  if (!supports(manifest, "action.input")) {
    return { kind: "failed", failure: lacks("awaiting input", "action.input") };
  }
  if (typeof request.title !== "string") return malformed("it asks for input without a title");
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
