import type { Database } from "better-sqlite3";
import type {
  ActionQuery,
  ActionRow,
  AnswerRow,
  ExecutionKey,
  InputRow,
  PageQuery,
  SideRows,
} from "../../core/store.js";
import { type Position, type RawPage, takePage } from "../page.js";
import { Filter, isSet } from "./filter.js";

interface ActionRowData {
  readonly action_id: string;
  readonly kind: number;
  readonly state: number;
  readonly provider_id: string;
  readonly create_time_ms: number;
  readonly action_key: string;
  readonly bytes: Uint8Array;
}

interface AnswerRowData {
  readonly action_id: string;
  readonly delivered: number;
  readonly expired: number;
  readonly bytes: Uint8Array;
}

interface InputRowData {
  readonly input_id: string;
  readonly bytes: Uint8Array;
}

interface ArtifactRowData {
  readonly artifact: number;
  readonly bytes: Uint8Array;
}

interface ListedAction {
  readonly action: number;
  readonly action_id: string;
  readonly create_time_ms: number;
}

/** Reads side rows. */
export class SideReader {
  readonly #db: Database;
  readonly #statements;

  constructor(db: Database) {
    this.#db = db;
    this.#statements = prepare(db);
  }

  all(key: ExecutionKey): SideRows {
    const execution = this.#execution(key);
    const { actions, answers, inputs, artifactIds, resumeState } = this.#statements;
    return {
      actions: actions.all(execution).map(toAction),
      answers: answers.all(execution).map(toAnswer),
      inputs: inputs.all(execution).map(toInput),
      artifactIds: artifactIds.all(execution),
      resumeState: resumeState.get(execution),
    };
  }

  action(key: ExecutionKey, id: string): Uint8Array | undefined {
    return this.#statements.action.get(this.#execution(key), id);
  }

  answer(key: ExecutionKey, id: string): AnswerRow | undefined {
    const row = this.#statements.answer.get(this.#execution(key), id);
    return row && toAnswer(row);
  }

  input(key: ExecutionKey, id: string): InputRow | undefined {
    const row = this.#statements.input.get(this.#execution(key), id);
    return row && toInput(row);
  }

  artifact(key: ExecutionKey, id: string): Uint8Array | undefined {
    return this.#statements.artifact.get(this.#execution(key), id);
  }

  listArtifacts(key: ExecutionKey, { pageSize }: PageQuery, position: Position | undefined): RawPage<Uint8Array> {
    const rows = this.#statements.listArtifacts.iterate(this.#execution(key), position?.order ?? 0, pageSize + 1);
    return takePage(pageSize, rows, ({ artifact, bytes }) => ({
      item: bytes,
      sizeBytes: bytes.length,
      position: { order: artifact, id: "" },
    }));
  }

  listActions(query: ActionQuery, position: Position | undefined): RawPage<Uint8Array> {
    const rows = this.#findActions(query, [...new Set(query.states)], position);
    return takePage(query.pageSize, rows, ({ action, action_id, create_time_ms }) => {
      const bytes = this.#statements.actionBytes.get(action);
      if (bytes === undefined) throw new Error(`action ${action_id} has no row`);
      return { item: bytes, sizeBytes: bytes.length, position: { order: create_time_ms, id: action_id } };
    });
  }

  /** Where the rows of the page are, and one more. Several states are found one by one, each by its index. */
  #findActions(query: ActionQuery, states: readonly number[], position: Position | undefined): ListedAction[] {
    if (states.length === 0 || isSet(query.executionId)) return this.#selectActions(query, states, position);
    return states.flatMap((state) => this.#selectActions(query, [state], position)).sort(newestFirst);
  }

  #selectActions(query: ActionQuery, states: readonly number[], position: Position | undefined): ListedAction[] {
    const { tenantId, executionId = "", providerId, kinds, pageSize } = query;
    const filter = new Filter().add("tenant_id = ?", tenantId);
    if (isSet(executionId)) filter.add("execution = ?", this.#execution({ tenantId, executionId }));
    filter
      .equal("provider_id", providerId)
      .oneOf(isSet(executionId) ? "+state" : "state", states)
      .oneOf("kind", kinds)
      .olderThan(position, "create_time_ms", "action_id");
    const sql = `SELECT action, action_id, create_time_ms FROM actions WHERE ${filter.sql}
      ORDER BY create_time_ms DESC, action_id DESC LIMIT ?`;
    return this.#db.prepare<unknown[], ListedAction>(sql).all(...filter.values, pageSize + 1);
  }

  /** The short key, or one that no row has. */
  #execution({ tenantId, executionId }: ExecutionKey): number {
    return this.#statements.execution.get(tenantId, executionId) ?? -1;
  }
}

function newestFirst(a: ListedAction, b: ListedAction): number {
  return b.create_time_ms - a.create_time_ms || (a.action_id < b.action_id ? 1 : -1);
}

function toAction(row: ActionRowData): ActionRow {
  return {
    actionId: row.action_id,
    kind: row.kind,
    state: row.state,
    providerId: row.provider_id,
    createTimeMs: row.create_time_ms,
    actionKey: row.action_key,
    bytes: row.bytes,
  };
}

function toAnswer(row: AnswerRowData): AnswerRow {
  const { action_id, delivered, expired, bytes } = row;
  return { actionId: action_id, bytes, delivered: delivered === 1, expired: expired === 1 };
}

function toInput({ input_id, bytes }: InputRowData): InputRow {
  return { inputId: input_id, bytes };
}

function prepare(db: Database) {
  const action = "action_id, kind, state, provider_id, create_time_ms, action_key, bytes";
  const answer = "action_id, delivered, expired, bytes";
  return {
    execution: db
      .prepare<[string, string], number>("SELECT execution FROM executions WHERE tenant_id = ? AND execution_id = ?")
      .pluck(),
    actions: db.prepare<[number], ActionRowData>(`SELECT ${action} FROM actions WHERE execution = ? ORDER BY action`),
    answers: db.prepare<[number], AnswerRowData>(`SELECT ${answer} FROM answers WHERE execution = ? ORDER BY answer`),
    inputs: db.prepare<[number], InputRowData>("SELECT input_id, bytes FROM inputs WHERE execution = ? ORDER BY input"),
    artifactIds: db
      .prepare<[number], string>("SELECT artifact_id FROM artifacts WHERE execution = ? ORDER BY artifact")
      .pluck(),
    resumeState: db.prepare<[number], Uint8Array>("SELECT bytes FROM resume_states WHERE execution = ?").pluck(),
    action: db
      .prepare<[number, string], Uint8Array>("SELECT bytes FROM actions WHERE execution = ? AND action_id = ?")
      .pluck(),
    answer: db.prepare<[number, string], AnswerRowData>(
      `SELECT ${answer} FROM answers WHERE execution = ? AND action_id = ?`,
    ),
    input: db.prepare<[number, string], InputRowData>(
      "SELECT input_id, bytes FROM inputs WHERE execution = ? AND input_id = ?",
    ),
    artifact: db
      .prepare<[number, string], Uint8Array>("SELECT bytes FROM artifacts WHERE execution = ? AND artifact_id = ?")
      .pluck(),
    actionBytes: db.prepare<[number], Uint8Array>("SELECT bytes FROM actions WHERE action = ?").pluck(),
    listArtifacts: db.prepare<[number, number, number], ArtifactRowData>(
      "SELECT artifact, bytes FROM artifacts WHERE execution = ? AND artifact > ? ORDER BY artifact LIMIT ?",
    ),
  };
}
