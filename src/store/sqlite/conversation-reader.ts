import type { Database } from "better-sqlite3";
import type { ConversationQuery, IdempotencyRecord } from "../../core/store.js";
import { type Position, type RawPage, takePage } from "../page.js";
import { Filter } from "./filter.js";

interface ListedConversation {
  readonly conversation_id: string;
  readonly create_time_ms: number;
  readonly bytes: Uint8Array;
}

/** Reads conversations and idempotency records. */
export class ConversationReader {
  readonly #db: Database;
  readonly #get;
  readonly #findScope;

  constructor(db: Database) {
    this.#db = db;
    this.#get = db
      .prepare<[string, string], Uint8Array>(
        "SELECT bytes FROM conversations WHERE tenant_id = ? AND conversation_id = ?",
      )
      .pluck();
    this.#findScope = db.prepare<[string, string], { readonly digest: string; readonly resource_id: string }>(
      "SELECT digest, resource_id FROM idempotency_records WHERE tenant_id = ? AND scope = ?",
    );
  }

  get(tenantId: string, conversationId: string): Uint8Array | undefined {
    return this.#get.get(tenantId, conversationId);
  }

  findIdempotent(tenantId: string, scope: string): IdempotencyRecord | undefined {
    const row = this.#findScope.get(tenantId, scope);
    return row && { scope, digest: row.digest, resourceId: row.resource_id };
  }

  list(query: ConversationQuery, position: Position | undefined): RawPage<Uint8Array> {
    return takePage(query.pageSize, this.#select(query, position), ({ conversation_id, create_time_ms, bytes }) => ({
      item: bytes,
      sizeBytes: bytes.length,
      position: { order: create_time_ms, id: conversation_id },
    }));
  }

  /** The rows of the page and one more, read as they are taken; found by the first label where there is one. */
  #select(
    { tenantId, labels = {}, pageSize }: ConversationQuery,
    position: Position | undefined,
  ): Iterable<ListedConversation> {
    const [first, ...others] = Object.entries(labels);
    const order = first === undefined ? "c" : "l";
    const filter = new Filter().add(`${order}.tenant_id = ?`, tenantId);
    if (first !== undefined) filter.labels("l.name = ? AND l.value = ?", [first]);
    filter.labels(HAS_LABEL, others).olderThan(position, `${order}.create_time_ms`, `${order}.conversation_id`);
    const sql = `SELECT c.conversation_id, c.create_time_ms, c.bytes
      FROM ${first === undefined ? "conversations c" : BY_LABEL}
      WHERE ${filter.sql} ORDER BY ${order}.create_time_ms DESC, ${order}.conversation_id DESC LIMIT ?`;
    return this.#db.prepare<unknown[], ListedConversation>(sql).iterate(...filter.values, pageSize + 1);
  }
}

const BY_LABEL = "conversation_labels l CROSS JOIN conversations c ON c.conversation = l.conversation";

const HAS_LABEL = `EXISTS (SELECT 1 FROM conversation_labels x WHERE x.tenant_id = c.tenant_id AND x.name = ?
  AND x.value = ? AND x.create_time_ms = c.create_time_ms AND x.conversation_id = c.conversation_id)`;
