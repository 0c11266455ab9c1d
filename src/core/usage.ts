import { create, isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { type Usage, UsageSchema } from "../../gen/ts/harnessruntime/v1/usage_pb.js";

/** The most that the contract's int32 and int64 hold: sums stop there. */
const MOST = 2 ** 31 - 1;
const MOST_MICROS = 2n ** 63n - 1n;

/** Returns the sum of two usages. Costs add where the currencies agree; else the later one is kept. */
export function addUsage(left: Usage | undefined, right: Usage | undefined): Usage {
  if (left === undefined || right === undefined) return left ?? right ?? create(UsageSchema);
  return create(UsageSchema, {
    promptTokens: saturated(left.promptTokens + right.promptTokens),
    completionTokens: saturated(left.completionTokens + right.completionTokens),
    totalTokens: saturated(left.totalTokens + right.totalTokens),
    ...sum("cachedTokens", left, right),
    ...sum("reasoningTokens", left, right),
    modelCalls: saturated(left.modelCalls + right.modelCalls),
    toolCalls: saturated(left.toolCalls + right.toolCalls),
    ...addCost(left, right),
  });
}

/** Returns a complete usage from what a provider reported. */
export function toUsage(init: MessageInitShape<typeof UsageSchema>): Usage {
  return isMessage(init, UsageSchema) ? init : create(UsageSchema, init);
}

function sum(field: "cachedTokens" | "reasoningTokens", left: Usage, right: Usage): Partial<Usage> {
  const [first, second] = [left[field], right[field]];
  return first === undefined && second === undefined ? {} : { [field]: saturated((first ?? 0) + (second ?? 0)) };
}

function saturated(count: number): number {
  return Math.min(count, MOST);
}

function addCost({ cost: left }: Usage, { cost: right }: Usage): Partial<Usage> {
  if (left === undefined || right === undefined) return left || right ? { cost: left ?? right } : {};
  const micros = left.currency === right.currency ? left.micros + right.micros : right.micros;
  return { cost: { ...right, micros: micros > MOST_MICROS ? MOST_MICROS : micros } };
}
