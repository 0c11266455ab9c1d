import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { HarnessIdentity, HarnessSendMode } from "./identity.js";
import type { TokenUsage } from "./message.js";
import type { HarnessResult } from "./result.js";

/** One event of a run: an event of the contract, as the embedded API shows it. */
export interface HarnessEvent {
  /** From 1, contiguous in a run; the cursor to go on after. */
  readonly sequence: number;
  readonly time: Date;
  readonly runId: string;
  readonly sessionId: string;
  readonly attemptId: string;
  readonly payload: HarnessEventPayload;
}

/**
 * What happened. Types are the contract's dotted names, but for `run.terminal`,
 * which stands for `run.completed`, `run.failed` and `run.cancelled`.
 */
export type HarnessEventPayload =
  | RunEventPayload
  | OutputEventPayload
  | ToolEventPayload
  | ActionEventPayload
  | InputEventPayload
  | { readonly type: "artifact.created"; readonly artifact: ArtifactView }
  | {
      readonly type: "completion.evaluated";
      readonly action: "accept" | "revise" | "stop" | "await_input";
      readonly reason: string;
      readonly revision: number;
    }
  /** An event of the driver's own; `eventType` is namespaced, such as `acme.progress`. */
  | { readonly type: "provider.event"; readonly eventType: string; readonly data: JsonObject };

/** The kinds that only the runtime appends. */
type RunEventPayload =
  | { readonly type: "run.queued"; readonly providerId: string }
  | { readonly type: "run.starting" }
  | { readonly type: "run.started" }
  | { readonly type: "run.resumed"; readonly attempt: number }
  | { readonly type: "run.cancelling"; readonly reason: string }
  | { readonly type: "run.terminal"; readonly result: HarnessResult };

type OutputEventPayload =
  | { readonly type: "output.text.delta"; readonly text: string; readonly itemId?: string }
  | { readonly type: "output.text.done"; readonly text: string; readonly itemId?: string }
  | { readonly type: "output.reasoning.delta"; readonly text: string; readonly itemId?: string }
  | { readonly type: "plan.updated"; readonly entries: readonly PlanEntryView[] }
  | {
      readonly type: "model.completed";
      readonly provider: string;
      readonly model: string;
      readonly role: string;
      readonly usage: TokenUsage;
    };

/** A line of a plan. */
export interface PlanEntryView {
  readonly content: string;
  readonly priority?: string;
  readonly state: "pending" | "in_progress" | "completed";
}

interface ToolEventFields {
  readonly toolCallId: string;
  /** What the tool does, in the driver's words. */
  readonly kind?: string;
  /** One line for people. */
  readonly title?: string;
  readonly input?: JsonValue;
}

type ToolEventPayload =
  | (ToolEventFields & { readonly type: "tool.call.started"; readonly name: string })
  | (ToolEventFields & { readonly type: "tool.call.updated"; readonly name?: string; readonly output?: JsonValue })
  | (ToolEventFields & {
      readonly type: "tool.call.completed";
      readonly name?: string;
      readonly output?: JsonValue;
      readonly denied?: boolean;
      readonly error?: string;
    });

type ActionEventPayload =
  | { readonly type: "action.required"; readonly action: ActionView }
  | {
      readonly type: "action.responded";
      readonly actionId: string;
      readonly approved?: boolean;
      readonly optionId?: string;
      readonly responder?: HarnessIdentity;
    }
  | { readonly type: "action.expired"; readonly actionId: string }
  | { readonly type: "action.abandoned"; readonly actionId: string; readonly reason: string };

/** An approval or a question that waits for an answer. */
export interface ActionView {
  readonly id: string;
  readonly kind: "approval" | "input";
  readonly title: string;
  readonly description: string;
  readonly payload?: JsonObject;
  readonly inputSchema?: JsonObject;
}

type InputEventPayload =
  | { readonly type: "input.accepted"; readonly inputId: string; readonly mode: HarnessSendMode }
  | {
      readonly type: "input.consumed";
      readonly inputId: string;
      readonly turn: number;
      readonly supersededTurn?: number;
    }
  | {
      readonly type: "input.dropped";
      readonly inputId: string;
      readonly reason: "withdrawn" | "superseded" | "execution_ended";
    };

/** A portable descriptor of what a run made. */
export interface ArtifactView {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  readonly uri?: string;
  readonly sizeBytes?: number;
}

/** The kinds that a driver may emit. */
export type DriverEventPayload = Extract<
  HarnessEventPayload,
  OutputEventPayload | ToolEventPayload | { readonly type: "provider.event" }
>;
