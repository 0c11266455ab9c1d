import type { ApprovalManager } from "./approvals.js";
import type { HarnessDefaults, HarnessManifest } from "./definition.js";
import type { HarnessEventPayload } from "./event.js";
import type { HarnessSendMode } from "./identity.js";
import type { ChatMessage, MessageContent, ToolCall } from "./message.js";
import type { ModelConfig, ModelProvider, ModelResponse, StreamChunk } from "./model.js";
import type { ExecutionPolicy } from "./policy.js";
import type { ScopedResource } from "./resource.js";
import type { HarnessChildResult } from "./result.js";
import type { RunContext } from "./run-context.js";
import type { ToolCallResult, ToolDef, ToolDefinition } from "./tool.js";

/**
 * Host-supplied execution boundary. Core consumes these operations; it does not
 * construct or own the host's orchestration, configuration, or resource lifecycle.
 *
 * Every operation throws once the turn's signal is aborted or the run has ended,
 * and fails the run once its deadline passed.
 */
export interface ExecutionServices {
  readonly ctx: RunContext;
  readonly signal: AbortSignal;
  /** The granted tools, those of abilities included. */
  readonly tools: readonly ToolDef[];
  /** A copy of the canonical history. */
  readonly history: readonly ChatMessage[];
  readonly executionPolicy: ExecutionPolicy;
  readonly approvalManager?: ApprovalManager;
  /** The same as `ctx.state`. */
  readonly state: Record<string, unknown>;
  readonly sessionKey: string;
  /**
   * Calls the model of a role, `main` unless `options.role` or the controller says
   * otherwise; `provider` stands in where `main` has no binding. Rejects with
   * {@link HarnessBudgetError} where a budget is used up.
   */
  model(
    provider: ModelProvider,
    messages: ChatMessage[],
    options?: ModelConfig & { tools?: ToolDefinition[] },
    context?: RunContext,
  ): Promise<ModelResponse>;
  /** The same, piece by piece. Leaving the iteration early ends the call. */
  streamModel(
    provider: ModelProvider,
    messages: ChatMessage[],
    options?: ModelConfig & { tools?: ToolDefinition[] },
    context?: RunContext,
  ): AsyncGenerator<StreamChunk>;
  /** Runs work that the run waits for; if it rejects, the run fails. */
  runOwned<T>(operation: () => Promise<T>): Promise<T>;
  /** Records the result of a tool call that was made elsewhere. */
  observeTool(result: ToolCallResult, context?: RunContext): Promise<void>;
  /** Runs a callback of the host's under a granted name, policy and budgets. Throws {@link HarnessDenialError} where it is denied. */
  dispatchEffect<T>(
    name: string,
    args: Record<string, unknown>,
    execute: (args: Record<string, unknown>, ctx: RunContext) => Promise<T>,
    options?: EffectOptions,
  ): Promise<T>;
  /** Calls a tool under grants, budgets, policy and approvals; never rejects for what the tool or the policy does. */
  dispatch(call: ToolCall): Promise<ToolCallResult>;
  /** Keeps a conversation of a part of the driver, such as a sub-agent, with the session. */
  recordConversation(executionId: string, messages: readonly ChatMessage[]): void;
}

export interface EffectOptions {
  /**
   * Names the effect within its turn, the same in every attempt at the turn: after a
   * crash its approval is known by it. Default: its name, arguments and place among
   * the effects of the turn that are alike.
   */
  readonly key?: string;
}

/** What a driver is given. */
export interface HarnessExecutionServices extends ExecutionServices {
  readonly definitionId?: string;
  /** Agent-specific declarative options interpreted only by the configured Agent driver. */
  readonly agentConfiguration?: {
    defaults: HarnessDefaults;
    limits: NonNullable<HarnessManifest["limits"]>;
    projectRoot: string;
  };
  /**
   * Independent, tool-free policy call using an explicitly granted host role and shared budgets.
   * Skips task controllers, context projection and middleware to avoid policy recursion.
   */
  controlModel(
    role: string,
    messages: readonly ChatMessage[],
    options?: Pick<ModelConfig, "maxTokens" | "temperature">,
  ): Promise<ModelResponse>;
  /** Adds to the canonical history. */
  append(messages: readonly ChatMessage[]): void;
  /** Appends an event to the log, in order; at most 64 KiB of JSON. */
  emit(payload: Exclude<HarnessEventPayload, { type: "run.terminal" | "run.started" }>): void;
  /** Returns the oldest steer that was not taken yet. A driver that completes without having taken one is called again with it. */
  takeInput(): { input: MessageContent; mode: HarnessSendMode } | undefined;
  /** Returns the resource of this id in a scope, made by `initialize` where there is none. */
  resource<T>(id: string, scope: "host" | "session" | "run", initialize: () => Promise<ScopedResource<T>>): Promise<T>;
  /** Keeps a value for the session's owner and returns its id. */
  putArtifact(value: unknown): string;
  /** Returns a value of the same tenant, user and session; undefined for any other id. */
  getArtifact(id: string): unknown;
  /**
   * Runs a member of the driver's own as a child of this run, and resolves with how it ended. Only where the
   * driver has members. The child is cancelled when this turn ends first.
   */
  startChild?(member: string, input: MessageContent): Promise<HarnessChildResult>;
  /** Keeps what {@link ExecutionDriver.resume} needs after a crash, at most 1 MiB, with the next event that is stored. */
  saveResumeState?(state: Uint8Array): void;
}
