import type { ActionQuery, ExecutionQuery } from "../core/store.js";
import type { MemoryAction, MemoryExecution } from "./memory-tenant.js";

type Labels = Readonly<Record<string, string>>;

/** Returns whether `labels` has every one of `wanted` with the same value. */
export function hasLabels(labels: Labels, wanted: Labels | undefined): boolean {
  return Object.entries(wanted ?? {}).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value);
}

export function matchesExecution(query: ExecutionQuery, { start, row }: MemoryExecution): boolean {
  return (
    allows(query.conversationId, start.conversationId) &&
    allows(query.providerId, start.providerId) &&
    allows(query.parentExecutionId, start.parentExecutionId) &&
    allows(query.rootExecutionId, start.rootExecutionId) &&
    allowsAny(query.states, row.state) &&
    hasLabels(start.labels, query.labels)
  );
}

export function matchesAction(query: ActionQuery, { execution, row }: MemoryAction): boolean {
  return (
    allows(query.executionId, execution.id) &&
    allows(query.providerId, row.providerId) &&
    allowsAny(query.states, row.state) &&
    allowsAny(query.kinds, row.kind)
  );
}

function allows(wanted: string | undefined, value: string): boolean {
  return wanted === undefined || wanted === "" || wanted === value;
}

function allowsAny<T>(wanted: readonly T[] | undefined, value: T): boolean {
  return wanted === undefined || wanted.length === 0 || wanted.includes(value);
}
