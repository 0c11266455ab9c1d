import { count } from "./count.js";
import type { LiveExecution } from "./live-execution.js";

/** The executions that are not over, as this process holds them. */
export class LiveSet {
  readonly #all = new Map<string, LiveExecution>();
  readonly #children = new Map<string, Set<LiveExecution>>();
  readonly #perTenant = new Map<string, number>();

  add(live: LiveExecution): void {
    const { executionId, tenantId } = live.key;
    const { parentExecutionId } = live.writer.committed.execution;
    this.#all.set(executionId, live);
    count(this.#perTenant, tenantId, 1);
    if (parentExecutionId === "") return;
    const siblings = this.#children.get(parentExecutionId) ?? new Set();
    this.#children.set(parentExecutionId, siblings.add(live));
  }

  remove(live: LiveExecution): void {
    const { executionId, tenantId } = live.key;
    if (!this.#all.delete(executionId)) return;
    count(this.#perTenant, tenantId, -1);
    const { parentExecutionId } = live.writer.committed.execution;
    const siblings = this.#children.get(parentExecutionId);
    siblings?.delete(live);
    if (siblings?.size === 0) this.#children.delete(parentExecutionId);
  }

  /** Returns a tenant's execution, or undefined. */
  find(tenantId: string, executionId: string): LiveExecution | undefined {
    const live = this.#all.get(executionId);
    return live?.key.tenantId === tenantId ? live : undefined;
  }

  /** How many a tenant has. */
  countOf(tenantId: string): number {
    return this.#perTenant.get(tenantId) ?? 0;
  }

  /** The children of an execution that are not over. */
  childrenOf(executionId: string): readonly LiveExecution[] {
    return [...(this.#children.get(executionId) ?? [])];
  }

  /** All of them, oldest first. */
  all(): readonly LiveExecution[] {
    return [...this.#all.values()];
  }
}
