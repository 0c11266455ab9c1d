import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { addUsage } from "./budgets.js";
import { NO_USAGE, toJson } from "./message.js";
import { type HarnessDriverOutput, type HarnessStatus, isReasonCode, type ReasonCode, STOP_CODES } from "./result.js";

const STATUSES: readonly HarnessStatus[] = ["completed", "failed", "cancelled", "stopped", "awaiting_input"];

/** Checks what a driver returned. Throws a TypeError that says what is wrong with it. */
export function checkOutput(output: HarnessDriverOutput | undefined): HarnessDriverOutput {
  if (typeof output !== "object" || output === null) throw new TypeError("the driver returned no output");
  const wrong = problemOf(output);
  if (wrong !== undefined) throw new TypeError(`the driver's output: ${wrong}`);
  if (output.usage !== undefined) addUsage(NO_USAGE, output.usage);
  return output;
}

function problemOf({ status, text, artifacts, history, structured }: HarnessDriverOutput): string | undefined {
  if (typeof text !== "string") return "its text is not a string";
  if (!STATUSES.includes(status ?? "completed")) return `its status is ${JSON.stringify(status)}`;
  if (!Array.isArray(history ?? [])) return "its history is not a list";
  if (structured !== undefined && toJson(structured) === undefined) return "its structured value is not JSON";
  return (artifacts ?? []).every(hasId) ? undefined : "an artifact has no id";
}

function hasId(artifact: { readonly id?: unknown } | null): boolean {
  return typeof artifact?.id === "string" && artifact.id !== "";
}

/** The embedded code of each reason of the contract. */
export const CODE_OF: Readonly<Record<FailureReason, ReasonCode>> = {
  [FailureReason.UNSPECIFIED]: "execution_failed",
  [FailureReason.PROVIDER_ERROR]: "execution_failed",
  [FailureReason.PROVIDER_PROTOCOL_VIOLATION]: "provider_protocol_violation",
  [FailureReason.PROVIDER_LOST]: "provider_lost",
  [FailureReason.PROVIDER_START_TIMEOUT]: "provider_start_timeout",
  [FailureReason.RUNTIME_RESTARTED]: "runtime_restarted",
  [FailureReason.BUDGET_EXHAUSTED]: "budget_exhausted",
  [FailureReason.REVISION_LIMIT]: "revision_limit",
  [FailureReason.POLICY_STOPPED]: "policy_stopped",
  [FailureReason.DEADLINE_EXCEEDED]: "deadline_exceeded",
  [FailureReason.ACTION_TIMEOUT]: "action_timeout",
  [FailureReason.OUTPUT_TOO_LARGE]: "output_too_large",
  [FailureReason.CONVERSATION_CONFLICT]: "session_conflict",
};

const REASON_OF = new Map<string, FailureReason>(
  Object.entries(CODE_OF)
    .filter(([reason]) => Number(reason) !== FailureReason.UNSPECIFIED)
    .map(([reason, code]) => [code, Number(reason)]),
);

/** The contract's reason for a driver's `failed` or `stopped`; a foreign code counts as none. */
export function toFailureReason({ status, reason }: HarnessDriverOutput): FailureReason {
  const code = isReasonCode(reason?.code) ? reason.code : undefined;
  if (status === "stopped") {
    return code !== undefined && STOP_CODES.includes(code) ? mustReason(code) : FailureReason.POLICY_STOPPED;
  }
  return code === undefined ? FailureReason.PROVIDER_ERROR : mustReason(code);
}

function mustReason(code: ReasonCode): FailureReason {
  return REASON_OF.get(code) ?? FailureReason.PROVIDER_ERROR;
}
