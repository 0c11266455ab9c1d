import type { Database } from "better-sqlite3";

/** The log is written back once so many pages of it wait: 4 MiB. */
const DUE_PAGES = 1024;
/** At so many pages (64 MiB) the writer stops to begin the log anew. */
const LIMIT_PAGES = 16 * 1024;
/** What the log's file is cut to when it begins anew. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** How long the writer waits for a reader when it begins the log anew. */
const PATIENCE_MS = 50;

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * SQLite's write-ahead log, seen from the writer. Another connection writes it
 * back into the file while commits go on; what they added meanwhile the writer
 * writes back itself, after which the next commit begins the log anew.
 */
export class WriteAheadLog {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    db.pragma(`journal_size_limit = ${KEPT_BYTES}`);
  }

  /** Whether enough pages wait for another connection to write them back. */
  get isDue(): boolean {
    const { log, checkpointed } = this.#checkpoint("NOOP");
    return log - checkpointed >= DUE_PAGES;
  }

  /** Writes back the few pages that are left; where they are many, only once the log has reached its limit. */
  finish(): void {
    const { log, checkpointed } = this.#checkpoint("NOOP");
    if (log >= LIMIT_PAGES) this.#restart();
    else if (log > 0 && log - checkpointed < DUE_PAGES) this.#checkpoint("PASSIVE");
  }

  #restart(): void {
    const before = this.#db.pragma("busy_timeout", { simple: true });
    this.#db.pragma(`busy_timeout = ${PATIENCE_MS}`);
    this.#checkpoint("RESTART");
    this.#db.pragma(`busy_timeout = ${before}`);
  }

  #checkpoint(mode: "NOOP" | "PASSIVE" | "RESTART"): CheckpointRow {
    const [row] = this.#db.pragma(`wal_checkpoint(${mode})`) as readonly CheckpointRow[];
    return row ?? { busy: 0, log: 0, checkpointed: 0 };
  }
}
