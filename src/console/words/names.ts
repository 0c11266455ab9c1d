import { ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputDropReason, InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { SupportLevel, Topology } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";

/** How a state looks: what colour and figure stand for it, beside its name. */
export type Tone = "waiting" | "busy" | "attention" | "good" | "bad" | "stopped";

interface StateName {
  readonly text: string;
  readonly tone: Tone;
}

const STATES: Readonly<Record<ExecutionState, StateName>> = {
  [ExecutionState.UNSPECIFIED]: { text: "Unknown", tone: "waiting" },
  [ExecutionState.QUEUED]: { text: "Queued", tone: "waiting" },
  [ExecutionState.STARTING]: { text: "Starting", tone: "busy" },
  [ExecutionState.RUNNING]: { text: "Running", tone: "busy" },
  [ExecutionState.AWAITING_INPUT]: { text: "Needs input", tone: "attention" },
  [ExecutionState.AWAITING_APPROVAL]: { text: "Needs approval", tone: "attention" },
  [ExecutionState.CANCELLING]: { text: "Cancelling", tone: "busy" },
  [ExecutionState.SUCCEEDED]: { text: "Succeeded", tone: "good" },
  [ExecutionState.FAILED]: { text: "Failed", tone: "bad" },
  [ExecutionState.CANCELLED]: { text: "Cancelled", tone: "stopped" },
};

/** A state for people; a state of a newer server is unknown. */
export function stateName(state: ExecutionState): StateName {
  return STATES[state] ?? STATES[ExecutionState.UNSPECIFIED];
}

const FAILURES: Readonly<Record<FailureReason, string>> = {
  [FailureReason.UNSPECIFIED]: "Failed",
  [FailureReason.PROVIDER_ERROR]: "Provider error",
  [FailureReason.PROVIDER_PROTOCOL_VIOLATION]: "The provider broke the contract",
  [FailureReason.PROVIDER_LOST]: "Provider lost",
  [FailureReason.PROVIDER_START_TIMEOUT]: "The provider did not start in time",
  [FailureReason.RUNTIME_RESTARTED]: "The runtime restarted",
  [FailureReason.BUDGET_EXHAUSTED]: "Budget exhausted",
  [FailureReason.REVISION_LIMIT]: "Too many revisions",
  [FailureReason.POLICY_STOPPED]: "Stopped by policy",
  [FailureReason.DEADLINE_EXCEEDED]: "Deadline exceeded",
  [FailureReason.ACTION_TIMEOUT]: "Nobody answered in time",
  [FailureReason.OUTPUT_TOO_LARGE]: "Output too large",
  [FailureReason.CONVERSATION_CONFLICT]: "The conversation was in use",
};

export function failureName(reason: FailureReason): string {
  return FAILURES[reason] ?? "Failed";
}

const ACTION_STATES: Readonly<Record<ActionState, string>> = {
  [ActionState.UNSPECIFIED]: "Unknown",
  [ActionState.PENDING]: "Waiting",
  [ActionState.RESPONDED]: "Answered",
  [ActionState.EXPIRED]: "Expired",
  [ActionState.ABANDONED]: "Abandoned",
};

export function actionStateName(state: ActionState): string {
  return ACTION_STATES[state] ?? "Unknown";
}

/** An input mode for people, as a word. */
export function inputModeText(mode: InputMode): string {
  const texts: Readonly<Record<InputMode, string>> = {
    [InputMode.UNSPECIFIED]: "input",
    [InputMode.FOLLOW_UP]: "follow-up",
    [InputMode.STEER]: "steer",
    [InputMode.REPLACE]: "replace",
  };
  return texts[mode] ?? "input";
}

export function dropReasonText(reason: InputDropReason | undefined): string {
  switch (reason) {
    case InputDropReason.WITHDRAWN:
      return "withdrawn";
    case InputDropReason.SUPERSEDED:
      return "superseded by a later replace";
    case InputDropReason.EXECUTION_ENDED:
      return "the execution ended first";
    default:
      return "dropped";
  }
}

const LEVELS: Readonly<Record<SupportLevel, string>> = {
  [SupportLevel.UNSPECIFIED]: "",
  [SupportLevel.NATIVE]: "Native",
  [SupportLevel.EMULATED]: "Emulated",
  [SupportLevel.DEGRADED]: "Degraded",
  [SupportLevel.UNSUPPORTED]: "Unsupported",
};

export function levelName(level: SupportLevel): string {
  return LEVELS[level] ?? "";
}

export function topologyName(topology: Topology): string {
  return (Topology[topology] ?? "").toLowerCase();
}
