import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Reservation } from "./budgets.js";
import { toUsageInit } from "./contract-values.js";
import { HarnessBudgetError, RunFailure } from "./errors.js";
import { type ChatMessage, NO_USAGE, type TokenUsage } from "./message.js";
import type { FinishReason, ModelCallOptions, ModelConfig, ModelProvider, ModelResponse } from "./model.js";
import type { OpenSpan } from "./spans.js";
import type { ToolDefinition } from "./tool.js";
import type { TurnScope } from "./turn-scope.js";

/** A model call that passed every check and holds its part of the budget. */
export interface PreparedCall {
  readonly role: string;
  readonly provider: ModelProvider;
  readonly messages: readonly ChatMessage[];
  readonly options: ModelCallOptions;
  readonly reservation: Reservation;
  readonly control: boolean;
  readonly span: OpenSpan<"model.result" | "model.error">;
}

/** A model call before it holds any budget. */
export interface CallDraft {
  readonly role: string;
  readonly provider: ModelProvider;
  readonly messages: readonly ChatMessage[];
  readonly config: Omit<ModelConfig, "role" | "signal">;
  readonly tools: readonly ToolDefinition[] | undefined;
  readonly control: boolean;
  readonly signal?: AbortSignal;
}

export function reserve(
  turn: TurnScope,
  { role, provider, messages, config, tools, control, signal }: CallDraft,
): PreparedCall {
  const { run } = turn;
  const reservation = ending(turn, () => run.ledger.reserveTokens(config.maxTokens));
  const { providerId, modelId } = provider;
  return {
    role,
    provider,
    messages,
    options: {
      ...config,
      ...(reservation.maxTokens === undefined ? {} : { maxTokens: reservation.maxTokens }),
      ...(tools === undefined || tools.length === 0 ? {} : { tools }),
      signal: signal === undefined ? turn.signal : AbortSignal.any([turn.signal, signal]),
    },
    reservation,
    control,
    span: run.spans.model({ role, providerId, modelId, control }),
  };
}

/** Makes a prepared call and accounts for it. */
export async function finish(
  turn: TurnScope,
  call: PreparedCall,
  make: () => Promise<ModelResponse>,
): Promise<ModelResponse> {
  try {
    const response = await turn.run.work.track(make());
    account(turn, call, response.usage, response.finishReason);
    return response;
  } catch (error) {
    failed(turn, call, error);
    throw error;
  } finally {
    call.reservation.release();
  }
}

const reported = new WeakSet<PreparedCall>();

export function account(turn: TurnScope, call: PreparedCall, usage: TokenUsage, finishReason: FinishReason): void {
  turn.run.ledger.account(usage);
  reported.add(call);
  record(turn, call, usage);
  call.span.end("model.result", { ...labels(call), usage, finishReason });
}

/** Reports a call that gave nothing; only the first report of a call counts. */
export function failed(turn: TurnScope, call: PreparedCall, error: unknown): void {
  if (reported.has(call)) return;
  reported.add(call);
  record(turn, call, NO_USAGE);
  call.span.end("model.error", { ...labels(call), errorName: nameOf(error) });
}

function record(turn: TurnScope, { role, provider }: PreparedCall, usage: TokenUsage): void {
  const { providerId, modelId } = provider;
  turn.emitter.push({
    case: "modelCompleted",
    value: { provider: providerId, model: modelId, role, usage: toUsageInit(usage) },
  });
}

function labels({ role, control, provider: { providerId, modelId } }: PreparedCall) {
  return { role, providerId, modelId, control };
}

/** Counts the call; a budget that is used up ends the run even where the driver goes on. */
export function countCall(turn: TurnScope): void {
  ending(turn, () => turn.run.ledger.countModelCall());
}

function ending<T>(turn: TurnScope, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof HarnessBudgetError && turn.run.ledger.exhausted) {
      turn.run.fail(new RunFailure(FailureReason.BUDGET_EXHAUSTED, error.message, { cause: error }));
    }
    throw error;
  }
}

/** Returns the name of an error's class, which says no more than that. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
