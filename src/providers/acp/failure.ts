import { ErrorReason, FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../../core/errors.js";
import type { TurnOutcome } from "../../core/provider.js";
import { fieldsOf, textOf } from "./json.js";

/** What can go wrong with an agent, as `metadata.problem` of the error. */
export type AgentProblem =
  | "command_missing"
  | "folder_missing"
  | "start_failed"
  | "start_timeout"
  | "protocol_version"
  | "login_required"
  | "session_refused"
  | "session_timeout"
  | "agent_ended"
  | "agent_error"
  | "input_unsupported"
  | "conversation_busy"
  | "outcome_unknown";

/** Which failures are more than PROVIDER_ERROR. */
const REASONS: { readonly [P in AgentProblem]?: FailureReason } = {
  conversation_busy: FailureReason.CONVERSATION_CONFLICT,
  agent_ended: FailureReason.PROVIDER_LOST,
  outcome_unknown: FailureReason.PROVIDER_LOST,
  start_timeout: FailureReason.PROVIDER_START_TIMEOUT,
  session_timeout: FailureReason.PROVIDER_START_TIMEOUT,
};

/** The error for a problem with an agent. `message` says what to do; `stderr` is what the agent wrote last. */
export function agentError(problem: AgentProblem, message: string, stderr = "", cause?: unknown): HarnessError {
  const text = stderr === "" ? message : `${message}. The agent's last words: ${stderr}`;
  return new HarnessError(ErrorReason.PROVIDER_UNAVAILABLE, text, { problem }, { cause });
}

/** The error for a folder to work in that is not there. */
export function folderMissing(cwd: string, cause?: unknown): HarnessError {
  const message = `the folder ${cwd} (cwd) does not exist; create it, or set cwd to one that does`;
  return agentError("folder_missing", message, "", cause);
}

/** Returns what went wrong, where `error` is of {@link agentError}. */
export function problemOf(error: unknown): AgentProblem | undefined {
  return error instanceof HarnessError ? (error.metadata["problem"] as AgentProblem | undefined) : undefined;
}

/** The outcome of a turn that ended with `error`. */
export function failedTurn(error: unknown): TurnOutcome {
  const message = error instanceof Error ? error.message : String(error);
  const problem = problemOf(error);
  const reason = problem === undefined ? undefined : REASONS[problem];
  return { status: "failed", message, ...(reason === undefined ? {} : { reason }) };
}

/** The protocol's code for an agent that wants a login first. */
export const AUTH_REQUIRED = -32_000;

/** What an agent answered instead of a result, or undefined where `error` is none of its answers. */
export function answeredError(error: unknown): { readonly code: number; readonly message: string } | undefined {
  const { code, message, data } = fieldsOf(error);
  if (!(error instanceof Error) || typeof code !== "number") return undefined;
  // Some agents say no more than "Internal error" and keep what happened in the data.
  const details = detailsOf(data);
  return { code, message: details === undefined ? String(message) : `${String(message)}: ${details}` };
}

function detailsOf(data: unknown): string | undefined {
  if (typeof data === "string") return textOf(data);
  const { details, message, error } = fieldsOf(data);
  return textOf(details) ?? textOf(message) ?? textOf(error) ?? (data == null ? undefined : JSON.stringify(data));
}
