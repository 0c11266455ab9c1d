import type { JsonValue } from "@bufbuild/protobuf";
import { PlanEntryState } from "../../gen/ts/harnessruntime/v1/output_events_pb.js";
import { checkJson } from "../core/check-json.js";
import { invalid } from "../core/errors.js";
import type { ProviderEvent } from "../core/provider.js";
import { toUsageInit, toValue } from "./contract-values.js";
import type { DriverEventPayload, HarnessEventPayload } from "./event.js";
import { toJson } from "./message.js";

/** The types that a driver may emit. */
const DRIVER_TYPES: Readonly<Record<DriverEventPayload["type"], true>> = {
  "output.text.delta": true,
  "output.text.done": true,
  "output.reasoning.delta": true,
  "plan.updated": true,
  "model.completed": true,
  "tool.call.started": true,
  "tool.call.updated": true,
  "tool.call.completed": true,
  "provider.event": true,
};

/** An event that a driver emits may be this long as JSON, in bytes. */
export const MAX_EMIT_BYTES = 65_536;

/**
 * Checks what a driver emits and returns it as the provider emits it. Fails with
 * VALIDATION_ERROR for a type that only the runtime appends, what JSON cannot say,
 * or more than {@link MAX_EMIT_BYTES}.
 */
export function toProviderEvent(payload: HarnessEventPayload): ProviderEvent {
  const type: unknown = payload?.type;
  if (typeof type !== "string" || !Object.hasOwn(DRIVER_TYPES, type)) {
    throw invalid(
      "payload.type",
      `a driver may not emit ${JSON.stringify(type)}; it may emit ${Object.keys(DRIVER_TYPES).join(", ")}`,
    );
  }
  const json = toJson(payload);
  if (json === undefined)
    throw invalid("payload", "must be what JSON can say: finite numbers, no functions, no cycles");
  const sizeBytes = Buffer.byteLength(JSON.stringify(json));
  if (sizeBytes > MAX_EMIT_BYTES)
    throw invalid("payload", `is ${sizeBytes} bytes of JSON; at most ${MAX_EMIT_BYTES} are allowed`);
  return convert(json as unknown as DriverEventPayload);
}

function convert(payload: DriverEventPayload): ProviderEvent {
  switch (payload.type) {
    case "output.text.delta":
      return { case: "outputTextDelta", value: { text: payload.text, itemId: payload.itemId ?? "" } };
    case "output.text.done":
      return { case: "outputTextDone", value: { text: payload.text, itemId: payload.itemId ?? "" } };
    case "output.reasoning.delta":
      return { case: "outputReasoningDelta", value: { text: payload.text, itemId: payload.itemId ?? "" } };
    case "plan.updated":
      return { case: "planUpdated", value: { entries: payload.entries.map((entry) => toEntry(entry)) } };
    case "model.completed": {
      const { provider, model, role, usage } = payload;
      return { case: "modelCompleted", value: { provider, model, role, usage: toUsageInit(usage) } };
    }
    case "provider.event":
      checkJson(payload.data, "payload.data");
      return { case: "providerEvent", value: { type: payload.eventType, data: payload.data } };
    default:
      return convertTool(payload);
  }
}

const PLAN_STATES = {
  pending: PlanEntryState.PENDING,
  in_progress: PlanEntryState.IN_PROGRESS,
  completed: PlanEntryState.COMPLETED,
} as const;

function toEntry({
  content,
  priority,
  state,
}: Extract<DriverEventPayload, { type: "plan.updated" }>["entries"][number]) {
  return { content, priority: priority ?? "", state: PLAN_STATES[state] };
}

function convertTool(payload: Extract<DriverEventPayload, { toolCallId: string }>): ProviderEvent {
  const { type, input, output, ...fields } = payload as typeof payload & { output?: JsonValue };
  if (input !== undefined) checkJson(input, "payload.input");
  if (output !== undefined) checkJson(output, "payload.output");
  const values = {
    ...(input === undefined ? {} : { input: toValue(input) }),
    ...(output === undefined ? {} : { output: toValue(output) }),
  };
  if (type === "tool.call.started") return { case: "toolCallStarted", value: { ...fields, ...values } };
  if (type === "tool.call.updated") return { case: "toolCallUpdated", value: { ...fields, ...values } };
  return { case: "toolCallCompleted", value: { ...fields, ...values } };
}
