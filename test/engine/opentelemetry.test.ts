import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { expect, test } from "vitest";
import { createEventBus, traceEngine } from "../../src/engine.js";
import { MAIN, model, runOnce, tool } from "./fixtures.js";

interface Recorded {
  readonly name: string;
  readonly parent: string | undefined;
  readonly attributes: Attributes;
  failed: boolean;
  ended: boolean;
}

/** A tracer that keeps what it is told: the API's own part of OpenTelemetry, with nothing behind it. */
function recordingTracer(): { readonly tracer: Tracer; readonly spans: Recorded[] } {
  const spans: Recorded[] = [];
  const startSpan = (name: string, options: { attributes?: Attributes } = {}, parent: Context = ROOT_CONTEXT): Span => {
    const parentId = trace.getSpanContext(parent)?.spanId;
    const recorded: Recorded = {
      name,
      parent: parentId === undefined ? undefined : spans[Number.parseInt(parentId, 16) - 1]?.name,
      attributes: { ...options.attributes },
      failed: false,
      ended: false,
    };
    spans.push(recorded);
    const context: SpanContext = {
      traceId: "1".repeat(32),
      spanId: spans.length.toString(16).padStart(16, "0"),
      traceFlags: 1,
    };
    const span = {
      spanContext: () => context,
      setAttributes: (more: Attributes) => Object.assign(recorded.attributes, more),
      setStatus: () => {
        recorded.failed = true;
      },
      end: () => {
        recorded.ended = true;
      },
    };
    return span as unknown as Span;
  };
  return { tracer: { startSpan } as unknown as Tracer, spans };
}

test("E165 a run is a span with its model and tool calls below it, under the GenAI conventions' names", async () => {
  const telemetry = createEventBus();
  const { tracer, spans } = recordingTracer();
  const stop = traceEngine(telemetry, tracer);
  await runOnce(
    async (services) => {
      await services.model(model(), []);
      await services
        .model(
          model(() => Promise.reject(new TypeError("x"))),
          [],
        )
        .catch(() => {});
      await services.dispatch({ id: "c1", name: "a", arguments: {} });
      return "ok";
    },
    { telemetry, tools: [tool("a")], grants: { ...MAIN, toolIds: ["a"] } },
  );
  stop();
  expect(spans.map(({ name, parent, failed, ended }) => [name, parent, failed, ended])).toEqual([
    ["invoke_agent test-driver", undefined, false, true],
    ["chat fake-1", "invoke_agent test-driver", false, true],
    ["chat fake-1", "invoke_agent test-driver", true, true],
    ["execute_tool a", "invoke_agent test-driver", false, true],
  ]);
  expect(spans[1]?.attributes).toMatchObject({
    "gen_ai.provider.name": "fake",
    "gen_ai.usage.input_tokens": 3,
    "harnessruntime.model_role": "main",
  });
  expect(spans[0]?.attributes).toMatchObject({ "harnessruntime.status": "succeeded" });
});
