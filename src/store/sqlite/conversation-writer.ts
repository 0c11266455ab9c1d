import type { Database } from "better-sqlite3";
import type { ConversationRow, IdempotencyRecord } from "../../core/store.js";

/** Writes conversations and idempotency records within the commit that is being made. */
export class ConversationWriter {
  readonly #statements;

  constructor(db: Database) {
    this.#statements = prepare(db);
  }

  has({ tenantId, conversationId }: ConversationRow): boolean {
    return this.#statements.has.get(tenantId, conversationId) === 1;
  }

  insert({ tenantId, conversationId, createTimeMs, labels, bytes }: ConversationRow): void {
    const { lastInsertRowid } = this.#statements.insert.run(tenantId, conversationId, createTimeMs, bytes);
    const conversation = Number(lastInsertRowid);
    for (const [name, value] of Object.entries(labels)) {
      this.#statements.insertLabel.run(tenantId, name, value, createTimeMs, conversationId, conversation);
    }
  }

  /** Returns what is stored under the scope of `idempotency`, if any. */
  taken(tenantId: string, idempotency: IdempotencyRecord | undefined): IdempotencyRecord | undefined {
    if (idempotency === undefined) return undefined;
    const { scope } = idempotency;
    const found = this.#statements.findScope.get(tenantId, scope);
    return found && { scope, digest: found.digest, resourceId: found.resource_id };
  }

  take(tenantId: string, idempotency: IdempotencyRecord | undefined): void {
    if (idempotency === undefined) return;
    const { scope, digest, resourceId } = idempotency;
    this.#statements.insertScope.run(tenantId, scope, digest, resourceId);
  }
}

function prepare(db: Database) {
  return {
    has: db
      .prepare<[string, string], number>("SELECT 1 FROM conversations WHERE tenant_id = ? AND conversation_id = ?")
      .pluck(),
    insert: db.prepare(
      "INSERT INTO conversations (tenant_id, conversation_id, create_time_ms, bytes) VALUES (?, ?, ?, ?)",
    ),
    insertLabel: db.prepare(
      `INSERT INTO conversation_labels (tenant_id, name, value, create_time_ms, conversation_id, conversation)
       VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    findScope: db.prepare<[string, string], { readonly digest: string; readonly resource_id: string }>(
      "SELECT digest, resource_id FROM idempotency_records WHERE tenant_id = ? AND scope = ?",
    ),
    insertScope: db.prepare(
      "INSERT INTO idempotency_records (tenant_id, scope, digest, resource_id) VALUES (?, ?, ?, ?)",
    ),
  };
}
