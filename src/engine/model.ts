import type { ChatMessage, TokenUsage } from "./message.js";
import type { ToolDefinition } from "./tool.js";

/**
 * A language model. {@link aiModel} makes one of any model of the AI SDK; an own
 * one is two functions. The engine calls it and nobody else does: every limit is
 * applied before.
 */
export interface ModelProvider {
  /** Such as `openai` or `anthropic`. */
  readonly providerId: string;
  /** Such as `gpt-5` or `claude-sonnet-5`. */
  readonly modelId: string;
  /** Answers at once. Rejects where the model cannot be reached or refuses. */
  generate(messages: readonly ChatMessage[], options: ModelCallOptions): Promise<ModelResponse>;
  /** Answers piece by piece; the last chunk, and no other, is a `finish`. */
  stream(messages: readonly ChatMessage[], options: ModelCallOptions): AsyncGenerator<StreamChunk>;
}

/** How to call a model. Every key is optional; which ones a caller may set is up to the role's binding. */
export interface ModelConfig {
  /** The role whose model answers. Default `main`. */
  readonly role?: string;
  /** The most tokens to write, from 1. The engine lowers it to what is left of the token budget. */
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  readonly stopSequences?: readonly string[];
  /** Whether the model must, may or may not call tools. Default `auto`. */
  readonly toolChoice?: "auto" | "none" | "required";
  /** Ask for JSON that fits this JSON Schema. */
  readonly responseSchema?: Readonly<Record<string, unknown>>;
  /** Settings of one provider, by provider, passed through unread. */
  readonly providerOptions?: Readonly<Record<string, unknown>>;
  /** Ends the call early; the run's own signal always does. */
  readonly signal?: AbortSignal;
}

/** What a {@link ModelProvider} is given: the caller's options after every check, and a signal always. */
export type ModelCallOptions = Omit<ModelConfig, "role" | "signal"> & {
  readonly tools?: readonly ToolDefinition[];
  readonly signal: AbortSignal;
};

/** Why a model stopped. */
export type FinishReason = "stop" | "tool_calls" | "length" | "content_filter";

/** A model's whole answer. */
export interface ModelResponse {
  /** Role `assistant`. */
  readonly message: ChatMessage;
  readonly usage: TokenUsage;
  readonly finishReason: FinishReason;
  /** Text of the model's reasoning, where the provider shows it. */
  readonly reasoning?: string;
  /** The provider's own answer, for debugging; never stored. */
  readonly raw: unknown;
}

/** A piece of a model's answer. */
export type StreamChunk =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool_call_start"; readonly id: string; readonly name: string }
  /** A further piece of the arguments' JSON text. */
  | { readonly type: "tool_call_delta"; readonly id: string; readonly delta: string }
  | {
      readonly type: "finish";
      readonly finishReason: FinishReason;
      readonly usage: TokenUsage;
      readonly providerExtras?: unknown;
    };

/** The model behind a role, and what callers may set. */
export interface ModelRoleBinding {
  readonly provider: ModelProvider;
  /** The keys of {@link ModelConfig} that a driver or a controller may set. Unset allows all. */
  readonly options?: readonly (keyof ModelConfig)[];
}

/** The role of calls that name none; for it alone the driver's own provider may stand in for a binding. */
export const DEFAULT_ROLE = "main";
