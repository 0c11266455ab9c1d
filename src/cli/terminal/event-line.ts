import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Event, EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { InputDropReason, InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { PlanEntryState } from "../../../gen/ts/harnessruntime/v1/output_events_pb.js";
import { CompletionAction } from "../../../gen/ts/harnessruntime/v1/result_events_pb.js";
import { eventTypeOf } from "../../client/event-type.js";
import { oneLine } from "./printable.js";
import { paint } from "./style.js";
import { widthOf } from "./table.js";
import { timeText } from "./time-text.js";

type Payload = Event["payload"];
type Kind = NonNullable<Payload["case"]>;
type ValueOf<K extends Kind> = Extract<Payload, { case: K }>["value"];

const LONGEST = 100;
/** What a summary gets on a terminal that has no room for it. */
const SHORTEST = 20;

/** What is said of each kind of event, besides its name. */
const SUMMARIES: { readonly [K in Kind]: (value: ValueOf<K>) => string } = {
  runQueued: ({ providerId }) => providerId,
  runStarting: ({ node }) => node,
  runStarted: ({ node }) => node,
  runResumed: ({ attempt }) => `attempt ${attempt}`,
  runCancelling: ({ reason }) => reason,
  runCompleted: ({ finalOutput }) => finalOutput,
  runFailed: ({ reason, message }) => `${FailureReason[reason]}: ${message}`,
  runCancelled: ({ reason, cleanupError }) => [reason, cleanupError].filter(Boolean).join("; "),
  outputTextDelta: ({ text }) => JSON.stringify(text),
  outputTextDone: ({ text }) => JSON.stringify(text),
  outputReasoningDelta: ({ text }) => JSON.stringify(text),
  toolCallStarted: (call) => toolText(call),
  toolCallUpdated: (call) => toolText(call),
  toolCallCompleted: (call) => [toolText(call), call.denied ? "denied" : "", call.error].filter(Boolean).join(" "),
  planUpdated: ({ entries }) => entries.map(({ content, state }) => `${PlanEntryState[state]} ${content}`).join("; "),
  modelCompleted: ({ provider, model, usage }) => `${provider} ${model} ${usage?.totalTokens ?? 0} tokens`.trim(),
  actionRequired: ({ action }) => `${action?.id} ${action?.title}`,
  actionResponded: ({ actionId, approved, optionId }) => [actionId, answerText(approved), optionId].join(" ").trim(),
  actionExpired: ({ actionId }) => actionId,
  actionAbandoned: ({ actionId, reason }) => `${actionId} ${reason}`,
  inputAccepted: ({ inputId, mode }) => `${inputId} ${InputMode[mode]}`,
  inputConsumed: ({ inputId, turn }) => `${inputId} turn ${turn}`,
  inputDropped: ({ inputId, reason }) => `${inputId} ${InputDropReason[reason]}`,
  artifactCreated: ({ artifact }) => [artifact?.name, artifact?.mediaType, artifact?.uri].filter(Boolean).join(" "),
  completionEvaluated: ({ action, reason }) => `${CompletionAction[action]} ${reason}`,
  providerEvent: ({ type }) => type,
};

/** Returns an event as one line: sequence, time, type, and what it says. */
export function eventLine(event: Event): string {
  const { sequence, time, payload } = event;
  const type = paint("cyan", eventTypeOf(event).padEnd(LONGEST_TYPE));
  const head = `${String(sequence).padStart(5)}  ${paint("dim", timeText(time))}  ${type}  `;
  const room = (process.stdout.columns ?? Number.POSITIVE_INFINITY) - widthOf(head);
  return `${head}${summaryOf(payload, Math.max(SHORTEST, Math.min(LONGEST, room)))}`.trimEnd();
}

/** Returns what an event says besides its type, on one line. */
export function summaryOf(payload: Payload, maxLength = LONGEST): string {
  if (payload.case === undefined) return "";
  const summary = SUMMARIES[payload.case] as (value: Payload["value"]) => string;
  return oneLine(summary(payload.value), maxLength);
}

/** Returns a value as JSON; empty for none. */
export function valueText(value: Value | undefined): string {
  return value === undefined ? "" : JSON.stringify(toJson(ValueSchema, value) satisfies JsonValue);
}

const LONGEST_TYPE = Math.max(...EventSchema.fields.filter(({ oneof }) => oneof).map(({ name }) => name.length));

interface ToolCall {
  readonly name: string;
  readonly title: string;
  readonly input?: Value | undefined;
  readonly output?: Value | undefined;
}

function toolText({ name, title, input, output }: ToolCall): string {
  return [name, title === name ? "" : title, valueText(input), valueText(output)].filter(Boolean).join(" ");
}

function answerText(approved: boolean | undefined): string {
  if (approved === undefined) return "";
  return approved ? "approved" : "denied";
}
