import type { Database, Statement } from "better-sqlite3";
import type { ExecutionKey, ExecutionQuery, StoredExecution } from "../../core/store.js";
import { type Position, type RawPage, takePage } from "../page.js";
import { Filter, isSet } from "./filter.js";

interface ExecutionRowData {
  readonly tenant_id: string;
  readonly execution_id: string;
  readonly start: Uint8Array;
  readonly bytes: Uint8Array;
  readonly fold: string;
  readonly state: number;
  readonly last_sequence: number;
  readonly update_time_ms: number;
  readonly first_sequence: number;
}

interface Listed {
  readonly execution: number;
  readonly create_time_ms: number;
  readonly execution_id: string;
}

const WHOLE = `SELECT e.tenant_id, e.execution_id, s.bytes AS start, r.bytes, r.fold, e.state, e.last_sequence,
    e.update_time_ms, e.first_sequence
  FROM executions e JOIN execution_starts s ON s.execution = e.execution
    JOIN execution_rows r ON r.execution = e.execution`;

/** Reads executions, one or a page. A page is found by an index alone, and then its rows are read. */
export class ExecutionLists {
  readonly #db: Database;
  readonly #byKey: Statement<[string, string], ExecutionRowData>;
  readonly #byExecution: Statement<[number], ExecutionRowData>;
  readonly #unfinished: Statement<[], ExecutionRowData>;

  constructor(db: Database) {
    this.#db = db;
    this.#byKey = db.prepare(`${WHOLE} WHERE e.tenant_id = ? AND e.execution_id = ?`);
    this.#byExecution = db.prepare(`${WHOLE} WHERE e.execution = ?`);
    this.#unfinished = db.prepare(`${WHOLE} WHERE e.terminal = 0 ORDER BY e.create_time_ms, e.execution_id`);
  }

  get({ tenantId, executionId }: ExecutionKey): StoredExecution | undefined {
    const row = this.#byKey.get(tenantId, executionId);
    return row && toExecution(row);
  }

  unfinished(): StoredExecution[] {
    return this.#unfinished.all().map(toExecution);
  }

  list(query: ExecutionQuery, position: Position | undefined): RawPage<StoredExecution> {
    return takePage(query.pageSize, this.#find(query, position), ({ execution, create_time_ms, execution_id }) => {
      const row = this.#byExecution.get(execution);
      if (row === undefined) throw new Error(`execution ${execution_id} has no row`);
      return {
        item: toExecution(row),
        sizeBytes: row.start.length + row.bytes.length,
        position: { order: create_time_ms, id: execution_id },
      };
    });
  }

  /** The first rows of the page and one more, newest first. */
  #find(query: ExecutionQuery, position: Position | undefined): Listed[] {
    const states = [...new Set(query.states)];
    if (states.length === 0 || isSelective(query)) return this.#select(query, states, position);
    const found = states.flatMap((state) => this.#select(query, [state], position));
    return found.sort(newestFirst).slice(0, query.pageSize + 1);
  }

  #select(query: ExecutionQuery, states: readonly number[], position: Position | undefined): Listed[] {
    const [first, ...others] = Object.entries(query.labels ?? {});
    // By a label where nothing else names few executions: its rows are in the list's order.
    const byLabel = first !== undefined && !namesFew(query);
    const order = byLabel ? "l" : "e";
    const filter = new Filter().add(`${order}.tenant_id = ?`, query.tenantId);
    if (first !== undefined) filter.labels(byLabel ? "l.name = ? AND l.value = ?" : HAS_LABEL, [first]);
    filter
      .labels(HAS_LABEL, others)
      .equal("e.conversation_id", query.conversationId)
      .equal("e.root_execution_id", query.rootExecutionId)
      .equal("e.parent_execution_id <> '' AND e.parent_execution_id", query.parentExecutionId)
      .equal("e.provider_id", query.providerId)
      .oneOf(isSelective(query) ? "+e.state" : "e.state", states)
      .olderThan(position, `${order}.create_time_ms`, `${order}.execution_id`);
    const sql = `SELECT e.execution, e.create_time_ms, e.execution_id
      FROM ${byLabel ? "execution_labels l CROSS JOIN executions e ON e.execution = l.execution" : "executions e"}
      WHERE ${filter.sql} ORDER BY ${order}.create_time_ms DESC, ${order}.execution_id DESC LIMIT ?`;
    return this.#db.prepare<unknown[], Listed>(sql).all(...filter.values, query.pageSize + 1);
  }
}

const HAS_LABEL = `EXISTS (SELECT 1 FROM execution_labels x WHERE x.tenant_id = e.tenant_id AND x.name = ?
  AND x.value = ? AND x.create_time_ms = e.create_time_ms AND x.execution_id = e.execution_id)`;

/** Whether a filter with an index of its own is set. */
function namesFew({ conversationId, parentExecutionId, rootExecutionId }: ExecutionQuery): boolean {
  return isSet(conversationId) || isSet(parentExecutionId) || isSet(rootExecutionId);
}

/** Whether the states are best looked at last; the `+` then keeps SQLite from choosing their index. */
function isSelective(query: ExecutionQuery): boolean {
  return namesFew(query) || Object.keys(query.labels ?? {}).length > 0;
}

function newestFirst(a: Listed, b: Listed): number {
  return b.create_time_ms - a.create_time_ms || (a.execution_id < b.execution_id ? 1 : -1);
}

function toExecution(row: ExecutionRowData): StoredExecution {
  return {
    key: { tenantId: row.tenant_id, executionId: row.execution_id },
    start: row.start,
    row: row.bytes,
    fold: row.fold,
    state: row.state,
    lastSequence: row.last_sequence,
    updateTimeMs: row.update_time_ms,
    firstSequence: row.first_sequence,
  };
}
