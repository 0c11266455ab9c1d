import type { ChatMessage } from "./message.js";
import type { ModelConfig, ModelResponse } from "./model.js";
import type { RunContext } from "./run-context.js";

/** Sees every model call of a driver. It cannot change the role, the tools or any limit. */
export interface ModelMiddleware {
  readonly name: string;
  /** Before the context policy, in order; returns what to send instead, or nothing to leave it as it is. Throwing fails the call. */
  beforeModel?(call: ModelCallDraft, ctx: RunContext): ModelCallDraft | undefined | Promise<ModelCallDraft | undefined>;
  /** After the call, an observer: what it throws is dropped. */
  afterModel?(response: ModelResponse, ctx: RunContext): void | Promise<void>;
}

/** A model call that can still be changed. */
export interface ModelCallDraft {
  readonly messages: readonly ChatMessage[];
  readonly options: Omit<ModelConfig, "role" | "signal">;
}

/** Runs a draft through every middleware in order. */
export async function applyBeforeModel(
  middleware: readonly ModelMiddleware[],
  draft: ModelCallDraft,
  ctx: RunContext,
): Promise<ModelCallDraft> {
  let current = draft;
  for (const { beforeModel } of middleware) current = (await beforeModel?.(current, ctx)) ?? current;
  return current;
}
