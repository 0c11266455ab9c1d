import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";

/** Returns which budget an execution has exceeded, in words; undefined where none. */
export function exhaustedBudget({ budgets, usage }: Execution): string | undefined {
  if (budgets === undefined || usage === undefined) return undefined;
  const counts = [
    ["max_model_calls", budgets.maxModelCalls, usage.modelCalls],
    ["max_tool_calls", budgets.maxToolCalls, usage.toolCalls],
    ["max_tokens", budgets.maxTokens, usage.totalTokens],
  ] as const;
  const exceeded = counts.find(([, limit, used]) => limit !== undefined && used > limit);
  return exceeded && `${exceeded[0]} is ${exceeded[1]} and ${exceeded[2]} were used`;
}
