import { isTerminal } from "../core/lifecycle.js";
import type {
  ActionQuery,
  AnswerRow,
  Append,
  ConversationQuery,
  ConversationRow,
  ExecutionKey,
  ExecutionQuery,
  IdempotencyRecord,
  InputRow,
  LogSlice,
  Page,
  PageQuery,
  SideRows,
  Store,
  StoredExecution,
} from "../core/store.js";
import { hasLabels, matchesAction, matchesExecution } from "./filters.js";
import { isFence, type MemoryExecution, MemoryTenant, toStoredExecution } from "./memory-tenant.js";
import { takePage } from "./page.js";
import { parsePageToken, toPage } from "./page-token.js";
import { checkAppend, storeClosed } from "./refusals.js";

/**
 * Opens a store in this process's memory: for tests and for runtimes that are
 * embedded in a program and need not outlive it. Nothing leaves it but by
 * `trim`. It keeps the byte arrays that it is given and gives out the same.
 */
export function openMemoryStore(): MemoryStore {
  return new MemoryStore();
}

export class MemoryStore implements Store {
  readonly kind = "memory";
  readonly durable = false;
  readonly shared = false;
  readonly #tenants = new Map<string, MemoryTenant>();
  #closed = false;

  async append(write: Append): Promise<void> {
    this.#mustBeOpen();
    checkAppend(write);
    this.#tenant(write.key.tenantId).append(write);
  }

  async read(key: ExecutionKey, after: number, maxBytes: number): Promise<LogSlice | undefined> {
    const execution = this.#find(key);
    return (
      execution && {
        chunks: execution.log.read(after, maxBytes),
        headSequence: execution.lastSequence,
        state: execution.row.state,
        firstSequence: execution.log.firstSequence,
      }
    );
  }

  async getExecution(key: ExecutionKey): Promise<StoredExecution | undefined> {
    const execution = this.#find(key);
    return execution && toStoredExecution(execution);
  }

  async listExecutions(query: ExecutionQuery): Promise<Page<StoredExecution>> {
    const position = parsePageToken("executions", query.pageToken);
    const rows = this.#tenant(query.tenantId).executionOrder.newestFirst(position, (execution) =>
      matchesExecution(query, execution),
    );
    const page = takePage(query.pageSize, rows, (execution) => ({
      item: toStoredExecution(execution),
      sizeBytes: execution.start.bytes.length + execution.row.bytes.length,
      position: { order: execution.createTimeMs, id: execution.id },
    }));
    return toPage("executions", page);
  }

  async listUnfinished(): Promise<readonly StoredExecution[]> {
    this.#mustBeOpen();
    return [...this.#tenants.values()]
      .flatMap((tenant) => [...tenant.executionOrder])
      .filter(({ row }) => !isTerminal(row.state))
      .sort((a, b) => a.createTimeMs - b.createTimeMs || (a.id < b.id ? -1 : 1))
      .map(toStoredExecution);
  }

  async getAction(key: ExecutionKey, actionId: string): Promise<Uint8Array | undefined> {
    return this.#find(key)?.actions.get(actionId)?.row.bytes;
  }

  async listActions(query: ActionQuery): Promise<Page<Uint8Array>> {
    const position = parsePageToken("actions", query.pageToken);
    const rows = this.#tenant(query.tenantId).actionOrder.newestFirst(position, (action) =>
      matchesAction(query, action),
    );
    const page = takePage(query.pageSize, rows, ({ row, createTimeMs, id }) => ({
      item: row.bytes,
      sizeBytes: row.bytes.length,
      position: { order: createTimeMs, id },
    }));
    return toPage("actions", page);
  }

  async getAnswer(key: ExecutionKey, actionId: string): Promise<AnswerRow | undefined> {
    return this.#find(key)?.answers.get(actionId);
  }

  async getInput(key: ExecutionKey, inputId: string): Promise<InputRow | undefined> {
    return this.#find(key)?.inputs.get(inputId);
  }

  async getSideRows(key: ExecutionKey): Promise<SideRows> {
    const execution = this.#find(key);
    return {
      actions: Array.from(execution?.actions.values() ?? [], ({ row }) => row),
      answers: [...(execution?.answers.values() ?? [])],
      inputs: [...(execution?.inputs.values() ?? [])],
      artifactIds: [...(execution?.artifacts.keys() ?? [])],
      resumeState: execution?.resumeState,
    };
  }

  async getArtifact(key: ExecutionKey, artifactId: string): Promise<Uint8Array | undefined> {
    return this.#find(key)?.artifacts.get(artifactId)?.bytes;
  }

  async listArtifacts(key: ExecutionKey, query: PageQuery): Promise<Page<Uint8Array>> {
    const skip = parsePageToken("artifacts", query.pageToken)?.order ?? 0;
    const artifacts = [...(this.#find(key)?.artifacts.values() ?? [])].slice(skip);
    const page = takePage(query.pageSize, artifacts.entries(), ([index, { bytes }]) => ({
      item: bytes,
      sizeBytes: bytes.length,
      position: { order: skip + index + 1, id: "" },
    }));
    return toPage("artifacts", page);
  }

  async createConversation(conversation: ConversationRow, idempotency?: IdempotencyRecord): Promise<void> {
    this.#tenant(conversation.tenantId).createConversation(conversation, idempotency);
  }

  async getConversation(tenantId: string, conversationId: string): Promise<Uint8Array | undefined> {
    return this.#tenant(tenantId).conversations.get(conversationId)?.bytes;
  }

  async listConversations(query: ConversationQuery): Promise<Page<Uint8Array>> {
    const position = parsePageToken("conversations", query.pageToken);
    const rows = this.#tenant(query.tenantId).conversationOrder.newestFirst(position, ({ labels }) =>
      hasLabels(labels, query.labels),
    );
    const page = takePage(query.pageSize, rows, ({ bytes, createTimeMs, id }) => ({
      item: bytes,
      sizeBytes: bytes.length,
      position: { order: createTimeMs, id },
    }));
    return toPage("conversations", page);
  }

  async findIdempotent(tenantId: string, scope: string): Promise<IdempotencyRecord | undefined> {
    return this.#tenant(tenantId).idempotency.get(scope);
  }

  async claim(key: ExecutionKey, owner: string, nowMs: number, leaseUntilMs: number): Promise<number | undefined> {
    const execution = this.#find(key);
    if (execution === undefined) return undefined;
    const held = execution.owner;
    if (held !== undefined && held.name !== owner && held.leaseUntilMs > nowMs) return undefined;
    execution.owner = { name: owner, leaseUntilMs };
    return ++execution.fence;
  }

  async renew(key: ExecutionKey, fence: number, leaseUntilMs: number): Promise<boolean> {
    const execution = this.#find(key);
    if (execution?.owner === undefined || !isFence(execution, fence)) return false;
    execution.owner = { name: execution.owner.name, leaseUntilMs };
    return true;
  }

  async release(key: ExecutionKey, fence: number): Promise<void> {
    const execution = this.#find(key);
    if (execution !== undefined && isFence(execution, fence)) execution.owner = undefined;
  }

  async trim(endedBeforeMs: number, labels?: Readonly<Record<string, string>>): Promise<number> {
    this.#mustBeOpen();
    let trimmed = 0;
    for (const tenant of this.#tenants.values()) {
      for (const execution of tenant.executions.values()) {
        if (!isTrimmable(execution, endedBeforeMs) || !hasLabels(execution.start.labels, labels)) continue;
        execution.log.trim(execution.lastSequence);
        trimmed++;
      }
    }
    return trimmed;
  }

  /**
   * Drops executions that ended before `endedBeforeMs`, with all that belongs to them, but for those that are
   * `inUse`. For an owner of the store who alone knows whether anybody asks for one again.
   */
  forget(endedBeforeMs: number, inUse: (executionId: string) => boolean): void {
    for (const tenant of this.#tenants.values()) {
      tenant.forget((execution) => isOver(execution, endedBeforeMs) && !inUse(execution.id));
    }
  }

  onHint(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tenants.clear();
  }

  #find(key: ExecutionKey): MemoryExecution | undefined {
    return this.#tenant(key.tenantId).executions.get(key.executionId);
  }

  #tenant(tenantId: string): MemoryTenant {
    this.#mustBeOpen();
    let tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) {
      tenant = new MemoryTenant();
      this.#tenants.set(tenantId, tenant);
    }
    return tenant;
  }

  #mustBeOpen(): void {
    if (this.#closed) throw storeClosed(this.kind);
  }
}

/** Whether the execution is over since before `endedBeforeMs` and still has events. */
function isTrimmable(execution: MemoryExecution, endedBeforeMs: number): boolean {
  return isOver(execution, endedBeforeMs) && execution.log.firstSequence <= execution.lastSequence;
}

function isOver({ row }: MemoryExecution, endedBeforeMs: number): boolean {
  return isTerminal(row.state) && row.endTimeMs !== undefined && row.endTimeMs < endedBeforeMs;
}
