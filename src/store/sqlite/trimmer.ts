import type { Database, Statement } from "better-sqlite3";
import type { Head } from "./heads.js";
import type { TrimResult, TrimStep } from "./messages.js";

/** How many executions one step looks at: a few milliseconds. */
const STEP_EXECUTIONS = 200;

interface Candidate {
  readonly execution: number;
  readonly end_time_ms: number;
  readonly tenant_id: string;
  readonly execution_id: string;
  readonly create_time_ms: number;
}

/** An ended execution's place in the order in which trims look at them. */
interface Place {
  readonly endTimeMs: number;
  readonly execution: number;
}

const BEGINNING: Place = { endTimeMs: Number.MIN_SAFE_INTEGER, execution: 0 };

/**
 * Drops the events of ended executions: marks them in a short commit, after
 * which no reader sees them. {@link import("./keeper.js").Keeper} deletes them later, bit by bit.
 */
export class Trimmer {
  /**
   * By labels: up to where everything was looked at. Labels never change, so what was passed over stays so, and a rule
   * that runs every minute need not look at it again; the first run after a start does.
   */
  readonly #passed = new Map<string, Place>();
  readonly #candidates: Statement<[number, number, number, number], Candidate>;
  readonly #hasLabel: Statement<[string, string, string, number, string], number>;
  readonly #mark: Statement<[number]>;
  readonly #enqueue: Statement<[number]>;

  constructor(db: Database) {
    this.#candidates = db.prepare(
      `SELECT execution, end_time_ms, tenant_id, execution_id, create_time_ms FROM executions
       WHERE terminal = 1 AND first_sequence <= last_sequence
         AND end_time_ms < ? AND (end_time_ms, execution) > (?, ?)
       ORDER BY end_time_ms, execution LIMIT ?`,
    );
    this.#hasLabel = db
      .prepare<[string, string, string, number, string], number>(
        `SELECT 1 FROM execution_labels
         WHERE tenant_id = ? AND name = ? AND value = ? AND create_time_ms = ? AND execution_id = ?`,
      )
      .pluck();
    this.#mark = db.prepare(
      "UPDATE executions SET first_sequence = last_sequence + 1, joined_sequence = last_sequence WHERE execution = ?",
    );
    this.#enqueue = db.prepare("INSERT OR IGNORE INTO trimmed_executions (execution) VALUES (?)");
  }

  trim({ endedBeforeMs, labels }: TrimStep): TrimResult {
    const rule = JSON.stringify(labels);
    const after = this.#passed.get(rule) ?? BEGINNING;
    const found = this.#candidates.all(endedBeforeMs, after.endTimeMs, after.execution, STEP_EXECUTIONS);
    const wanted = found.filter((candidate) => labels.every((label) => this.#carries(candidate, label)));
    for (const { execution } of wanted) {
      this.#mark.run(execution);
      this.#enqueue.run(execution);
    }
    const last = found.at(-1);
    if (last !== undefined) this.#passed.set(rule, { endTimeMs: last.end_time_ms, execution: last.execution });
    return { trimmed: wanted.length, isLast: found.length < STEP_EXECUTIONS };
  }

  /** Takes notice of a write to an execution: one that ends behind a rule's place is looked at again. */
  noteWritten({ execution, endTimeMs }: Head): void {
    if (endTimeMs === undefined) return;
    for (const [rule, passed] of this.#passed) {
      const isBehind =
        endTimeMs < passed.endTimeMs || (endTimeMs === passed.endTimeMs && execution <= passed.execution);
      if (isBehind) this.#passed.set(rule, { endTimeMs, execution: execution - 1 });
    }
  }

  /** Forgets what was looked at, which a commit that failed has undone. */
  clear(): void {
    this.#passed.clear();
  }

  #carries(candidate: Candidate, [name, value]: readonly [string, string]): boolean {
    const { tenant_id, create_time_ms, execution_id } = candidate;
    return this.#hasLabel.get(tenant_id, name, value, create_time_ms, execution_id) === 1;
  }
}
