import { type Attributes, context, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { EventBus, TelemetryEvent } from "./event-bus.js";

/**
 * Makes an OpenTelemetry span of each pair of events on a bus: one a run, with its
 * model calls, controller steps and tool calls below it. Without a tracer it uses the
 * global provider's, so a program that sets up no OpenTelemetry pays next to nothing.
 * The returned function ends it and every span that is still open.
 */
export function traceEngine(bus: EventBus, tracer: Tracer = trace.getTracer("harness-runtime")): () => void {
  const open = new Map<string, Span>();
  const runs = new Map<string, Span>();

  const begin = (event: TelemetryEvent): void => {
    const parent = runs.get(event.runId);
    const within = parent === undefined ? context.active() : trace.setSpan(context.active(), parent);
    const options = { attributes: attributesOf(event), startTime: event.timeMs };
    const span = tracer.startSpan(nameOf(event), options, within);
    open.set(event.spanId, span);
    if (event.type === "run.start") runs.set(event.runId, span);
  };

  const end = (event: TelemetryEvent): void => {
    const span = open.get(event.spanId);
    if (span === undefined) return;
    open.delete(event.spanId);
    if (event.type === "run.complete") runs.delete(event.runId);
    span.setAttributes(attributesOf(event));
    if ("errorName" in event) span.setStatus({ code: SpanStatusCode.ERROR, message: event.errorName });
    span.end(event.timeMs);
  };

  const stop = bus.on((event) => (event.type.endsWith(".start") ? begin(event) : end(event)));
  return () => {
    stop();
    for (const span of open.values()) span.end();
    open.clear();
    runs.clear();
  };
}

function nameOf(event: TelemetryEvent): string {
  if ("toolName" in event) return `execute_tool ${event.toolName}`;
  if ("modelId" in event) return `chat ${event.modelId}`;
  if ("controllerId" in event)
    return `${event.step === undefined ? "control_run" : "control_step"} ${event.controllerId}`;
  return `invoke_agent ${"driverId" in event ? event.driverId : ""}`.trim();
}

/** The GenAI semantic conventions' names where they have one. */
function attributesOf(event: TelemetryEvent): Attributes {
  const attributes: Attributes = {
    "harnessruntime.execution_id": event.runId,
    "gen_ai.conversation.id": event.sessionId,
  };
  if ("modelId" in event) {
    attributes["gen_ai.operation.name"] = "chat";
    attributes["gen_ai.provider.name"] = event.providerId;
    attributes["gen_ai.request.model"] = event.modelId;
    attributes["harnessruntime.model_role"] = event.role;
  }
  if ("toolName" in event) attributes["gen_ai.tool.name"] = event.toolName;
  if ("usage" in event) {
    attributes["gen_ai.usage.input_tokens"] = event.usage.promptTokens;
    attributes["gen_ai.usage.output_tokens"] = event.usage.completionTokens;
  }
  if ("denial" in event && event.denial !== undefined) attributes["harnessruntime.tool_denial"] = event.denial;
  if ("status" in event) attributes["harnessruntime.status"] = event.status;
  return attributes;
}
