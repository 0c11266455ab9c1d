/** `harness-runtime/engine`: runs a driver within a program, under grants, budgets and policies. */
export { type FieldViolation, HarnessError, isHarnessError, type Reason } from "./core/errors.js";
export type { AbilityBinding, HarnessAbility } from "./engine/ability.js";
export { type AgentDriverOptions, agentDriver } from "./engine/agent/agent-driver.js";
export { type AiLanguageModel, type AiModelOptions, aiModel } from "./engine/ai/ai-model.js";
export {
  type McpCommand,
  type McpOptions,
  type McpServer,
  type McpTools,
  mcpResource,
  mcpTools,
} from "./engine/ai/mcp-tools.js";
export {
  type ApprovalDecision,
  type ApprovalManager,
  type ApprovalOptions,
  type ApprovalRequest,
  type ApprovalScope,
  createApprovalManager,
} from "./engine/approvals.js";
export type { HarnessBudgets } from "./engine/budgets.js";
export type { CompletionCandidate, CompletionDecision, CompletionPolicy } from "./engine/completion.js";
export type { EngineOptions, HarnessRuntimeConfig } from "./engine/config.js";
export type { ContextEntry, ContextPolicy, ContextProjection, ContextProvenance } from "./engine/context-policy.js";
export type { ContextSource } from "./engine/context-source.js";
export type { StepController, StepInfo, StepOverrides } from "./engine/controller.js";
export {
  type HarnessDefaults,
  type HarnessDefinition,
  type HarnessLimits,
  type HarnessManifest,
  type HarnessRegistries,
  parseManifest,
} from "./engine/definition.js";
export type { DriverResume, ExecutionDriver, HarnessRunRequest, TeamMember } from "./engine/driver.js";
export {
  type DriverModule,
  type DriverProviderOptions,
  driverProvider,
  type ServedDriver,
} from "./engine/driver-provider.js";
export {
  HarnessBudgetError,
  HarnessDenialError,
  HarnessEventGapError,
  HarnessUnsupportedError,
} from "./engine/errors.js";
export type {
  ActionView,
  ArtifactView,
  DriverEventPayload,
  HarnessEvent,
  HarnessEventPayload,
  PlanEntryView,
} from "./engine/event.js";
export { createEventBus, type EventBus, type TelemetryEvent } from "./engine/event-bus.js";
export { openFileSessions } from "./engine/file-sessions.js";
export type { HarnessGrants } from "./engine/grants.js";
export { HarnessRuntime } from "./engine/harness-runtime.js";
export type { HarnessIdentity, HarnessSendMode, RunMode } from "./engine/identity.js";
export {
  type ChatMessage,
  type FilePart,
  type ImagePart,
  type MessageContent,
  type MessagePart,
  type TextPart,
  type TokenUsage,
  type ToolCall,
  textOf,
} from "./engine/message.js";
export type { ModelCallDraft, ModelMiddleware } from "./engine/middleware.js";
export type {
  FinishReason,
  ModelCallOptions,
  ModelConfig,
  ModelProvider,
  ModelResponse,
  ModelRoleBinding,
  StreamChunk,
} from "./engine/model.js";
export { traceEngine } from "./engine/opentelemetry.js";
export type { ExecutionPolicy, PolicyDecision } from "./engine/policy.js";
export {
  createResourcePool,
  type HarnessResourcePool,
  type ResourceScope,
  type ScopedResource,
} from "./engine/resource.js";
export {
  type HarnessArtifactRef,
  type HarnessChildResult,
  type HarnessDriverOutput,
  type HarnessReason,
  type HarnessResult,
  type HarnessStatus,
  REASON_CODES,
  type ReasonCode,
} from "./engine/result.js";
export type { RunContext, RunMetadata } from "./engine/run-context.js";
export type { HarnessStartOptions, RunHandle } from "./engine/run-handle.js";
export type { EffectOptions, ExecutionServices, HarnessExecutionServices } from "./engine/services.js";
export {
  type AcquireOptions,
  createMemorySessions,
  type HarnessSessionStore,
  type MemorySessionOptions,
  type SessionLease,
  type SessionSnapshot,
} from "./engine/session-store.js";
export { type ReflectionOptions, reflectionPolicy } from "./engine/stock/reflection.js";
export { type SummaryOptions, summaryPolicy } from "./engine/stock/summary.js";
export { type Team, type TeamDriverOptions, teamDriver } from "./engine/team-driver.js";
export type {
  StandardResult,
  StandardSchema,
  ToolCallResult,
  ToolDef,
  ToolDefinition,
  ToolDenial,
  ToolEffect,
  ToolParameters,
} from "./engine/tool.js";
export {
  type StepFunction,
  type Workflow,
  type WorkflowDriverOptions,
  workflowDriver,
} from "./engine/workflow-driver.js";
