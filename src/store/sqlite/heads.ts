import type { Database, Statement } from "better-sqlite3";
import type { ExecutionKey } from "../../core/store.js";

/** What the writer must know of an execution to judge a write, without reading it each time. */
export interface Head {
  /** The execution's short key. */
  readonly execution: number;
  /** The log's last sequence, with the writes of the commit that is being made. */
  lastSequence: number;
  /** Chunks up to here have the size that they keep. */
  joinedSequence: number;
  /** About how many chunks come after `joinedSequence`. */
  looseChunks: number;
  /** The last fencing number given. */
  fence: number;
  terminal: boolean;
  /** As in the last row; undefined before the end. */
  endTimeMs: number | undefined;
}

interface HeadRow {
  readonly execution: number;
  readonly last_sequence: number;
  readonly joined_sequence: number;
  readonly fence: number;
  readonly terminal: number;
  readonly end_time_ms: number | null;
}

const CACHED = 10_000;

/** The heads of the executions that were written last. */
export class Heads {
  readonly #cached = new Map<string, Head>();
  readonly #select: Statement<[string, string], HeadRow>;
  readonly #countLoose: Statement<[number, number], number>;

  constructor(db: Database) {
    this.#select = db.prepare(
      `SELECT execution, last_sequence, joined_sequence, fence, terminal, end_time_ms FROM executions
       WHERE tenant_id = ? AND execution_id = ?`,
    );
    this.#countLoose = db
      .prepare<[number, number], number>("SELECT count(*) FROM event_chunks WHERE execution = ? AND last_sequence > ?")
      .pluck();
  }

  get(key: ExecutionKey): Head | undefined {
    const name = nameOf(key);
    const cached = this.#cached.get(name);
    if (cached !== undefined) return cached;
    const row = this.#select.get(key.tenantId, key.executionId);
    if (row === undefined) return undefined;
    const head: Head = {
      execution: row.execution,
      lastSequence: row.last_sequence,
      joinedSequence: row.joined_sequence,
      looseChunks: this.#countLoose.get(row.execution, row.joined_sequence) ?? 0,
      fence: row.fence,
      terminal: row.terminal === 1,
      endTimeMs: row.end_time_ms ?? undefined,
    };
    this.#keep(name, head);
    return head;
  }

  add(key: ExecutionKey, head: Head): void {
    this.#keep(nameOf(key), head);
  }

  /** Forgets what was changed by a commit that failed: all of it, since that is rare. */
  clear(): void {
    this.#cached.clear();
  }

  /** Drops the older half, in the order of their first use, once there are too many; not within a commit. */
  shrink(): void {
    if (this.#cached.size <= CACHED) return;
    for (const name of this.#cached.keys()) {
      if (this.#cached.size <= CACHED / 2) return;
      this.#cached.delete(name);
    }
  }

  #keep(name: string, head: Head): void {
    this.#cached.set(name, head);
  }
}

function nameOf({ tenantId, executionId }: ExecutionKey): string {
  return `${tenantId}\n${executionId}`;
}
