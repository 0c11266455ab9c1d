import { timestampDate } from "@bufbuild/protobuf/wkt";
import { ActionKind, type ActionRequest } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Artifact } from "../../gen/ts/harnessruntime/v1/artifact_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { InputDropReason, InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { type PlanEntry, PlanEntryState } from "../../gen/ts/harnessruntime/v1/output_events_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import type { EventKind } from "../core/lifecycle.js";
import { fromUsage, jsonOf } from "./contract-values.js";
import type { ActionView, ArtifactView, HarnessEvent, HarnessEventPayload, PlanEntryView } from "./event.js";
import type { HarnessSendMode } from "./identity.js";
import type { HarnessResult } from "./result.js";

/** The kinds that end a run; the embedded API shows them as `run.terminal`. */
export type TerminalKind = "runCompleted" | "runFailed" | "runCancelled";

type Value<K extends EventKind> = Extract<Event["payload"], { case: K }>["value"];

/** One function a kind of the contract, so that a new kind does not compile without one. */
const PAYLOADS: { readonly [K in Exclude<EventKind, TerminalKind>]: (value: Value<K>) => HarnessEventPayload } = {
  runQueued: ({ providerId }) => ({ type: "run.queued", providerId }),
  runStarting: () => ({ type: "run.starting" }),
  runStarted: () => ({ type: "run.started" }),
  runResumed: ({ attempt }) => ({ type: "run.resumed", attempt }),
  runCancelling: ({ reason }) => ({ type: "run.cancelling", reason }),
  outputTextDelta: ({ text, itemId }) => ({ type: "output.text.delta", text, ...filled({ itemId }) }),
  outputTextDone: ({ text, itemId }) => ({ type: "output.text.done", text, ...filled({ itemId }) }),
  outputReasoningDelta: ({ text, itemId }) => ({ type: "output.reasoning.delta", text, ...filled({ itemId }) }),
  planUpdated: ({ entries }) => ({ type: "plan.updated", entries: entries.map(toPlanEntry) }),
  modelCompleted: ({ provider, model, role, usage }) => ({
    type: "model.completed",
    provider,
    model,
    role,
    usage: fromUsage(usage),
  }),
  providerEvent: ({ type, data }) => ({ type: "provider.event", eventType: type, data: data ?? {} }),
  toolCallStarted: ({ name, ...fields }) => ({ type: "tool.call.started", name, ...toolFields(fields) }),
  toolCallUpdated: (value) => ({
    type: "tool.call.updated",
    ...toolFields(value),
    ...filled({ name: value.name }),
    ...jsonOf("output", value.output),
  }),
  toolCallCompleted: (value) => ({
    type: "tool.call.completed",
    ...toolFields(value),
    ...filled({ name: value.name, error: value.error }),
    ...jsonOf("output", value.output),
    ...(value.denied ? { denied: true } : {}),
  }),
  actionRequired: ({ action }) => ({ type: "action.required", action: toActionView(action) }),
  actionResponded: ({ actionId, approved, optionId, responder }) => ({
    type: "action.responded",
    actionId,
    ...filled({ optionId }),
    ...(approved === undefined ? {} : { approved }),
    ...(responder === undefined ? {} : { responder: { tenantId: responder.tenantId, userId: responder.userId } }),
  }),
  actionExpired: ({ actionId }) => ({ type: "action.expired", actionId }),
  actionAbandoned: ({ actionId, reason }) => ({ type: "action.abandoned", actionId, reason }),
  inputAccepted: ({ inputId, mode }) => ({ type: "input.accepted", inputId, mode: SEND_MODE[mode] }),
  inputConsumed: ({ inputId, turn, supersededTurn }) => ({
    type: "input.consumed",
    inputId,
    turn,
    ...(supersededTurn === 0 ? {} : { supersededTurn }),
  }),
  inputDropped: ({ inputId, reason }) => ({ type: "input.dropped", inputId, reason: DROP_REASON[reason] }),
  artifactCreated: ({ artifact }) => ({ type: "artifact.created", artifact: toArtifactView(artifact) }),
  completionEvaluated: ({ action, reason, revision }) => ({
    type: "completion.evaluated",
    action: COMPLETION[action],
    reason,
    revision,
  }),
};

const SEND_MODE: Readonly<Record<InputMode, HarnessSendMode>> = {
  [InputMode.UNSPECIFIED]: "follow_up",
  [InputMode.FOLLOW_UP]: "follow_up",
  [InputMode.STEER]: "steer",
  [InputMode.REPLACE]: "replace",
};

const DROP_REASON: Readonly<Record<InputDropReason, "withdrawn" | "superseded" | "execution_ended">> = {
  [InputDropReason.UNSPECIFIED]: "execution_ended",
  [InputDropReason.WITHDRAWN]: "withdrawn",
  [InputDropReason.SUPERSEDED]: "superseded",
  [InputDropReason.EXECUTION_ENDED]: "execution_ended",
};

const COMPLETION: Readonly<Record<CompletionAction, "accept" | "revise" | "stop" | "await_input">> = {
  [CompletionAction.UNSPECIFIED]: "accept",
  [CompletionAction.ACCEPT]: "accept",
  [CompletionAction.REVISE]: "revise",
  [CompletionAction.STOP]: "stop",
  [CompletionAction.AWAIT_INPUT]: "await_input",
};

const PLAN_STATE: Readonly<Record<PlanEntryState, PlanEntryView["state"]>> = {
  [PlanEntryState.UNSPECIFIED]: "pending",
  [PlanEntryState.PENDING]: "pending",
  [PlanEntryState.IN_PROGRESS]: "in_progress",
  [PlanEntryState.COMPLETED]: "completed",
};

/** Returns whether an event ends its run. */
export function isTerminalKind(kind: EventKind | undefined): kind is TerminalKind {
  return kind === "runCompleted" || kind === "runFailed" || kind === "runCancelled";
}

/**
 * Returns an event of the contract as the embedded API shows it. `terminal` gives
 * the result of the event that ends the run, and is called for no other.
 */
export function toHarnessEvent(
  event: Event,
  sessionId: string,
  terminal: (event: Event) => HarnessResult,
): HarnessEvent {
  return {
    sequence: event.sequence,
    time: event.time === undefined ? new Date(0) : timestampDate(event.time),
    runId: event.executionId,
    sessionId,
    attemptId: String(event.attempt),
    payload: toPayload(event, terminal),
  };
}

function toPayload(event: Event, terminal: (event: Event) => HarnessResult): HarnessEventPayload {
  const { payload } = event;
  if (payload.case === undefined) return { type: "provider.event", eventType: "harnessruntime.unknown", data: {} };
  if (isTerminalKind(payload.case)) return { type: "run.terminal", result: terminal(event) };
  const map = PAYLOADS[payload.case] as (value: unknown) => HarnessEventPayload;
  return map(payload.value);
}

function toolFields(value: {
  toolCallId: string;
  kind: string;
  title: string;
  input?: Value<"toolCallStarted">["input"];
}) {
  return {
    toolCallId: value.toolCallId,
    ...filled({ kind: value.kind, title: value.title }),
    ...jsonOf("input", value.input),
  };
}

function toPlanEntry({ content, priority, state }: PlanEntry): PlanEntryView {
  return { content, ...filled({ priority }), state: PLAN_STATE[state] };
}

function toActionView(action: ActionRequest | undefined): ActionView {
  return {
    id: action?.id ?? "",
    kind: action?.kind === ActionKind.INPUT ? "input" : "approval",
    title: action?.title ?? "",
    description: action?.description ?? "",
    ...(action?.payload === undefined ? {} : { payload: action.payload }),
    ...(action?.inputSchema === undefined ? {} : { inputSchema: action.inputSchema }),
  };
}

function toArtifactView(artifact: Artifact | undefined): ArtifactView {
  return {
    id: artifact?.id ?? "",
    name: artifact?.name ?? "",
    mimeType: artifact?.mediaType ?? "",
    ...filled({ uri: artifact?.uri ?? "" }),
    ...(artifact?.sizeBytes === undefined ? {} : { sizeBytes: Number(artifact.sizeBytes) }),
  };
}

/** Returns those fields that are not empty: in the contract empty means unset. */
function filled<T extends Record<string, string>>(fields: T): { readonly [K in keyof T]?: string } {
  const kept = Object.entries(fields).filter(([, text]) => text !== "");
  return Object.fromEntries(kept) as { readonly [K in keyof T]?: string };
}
