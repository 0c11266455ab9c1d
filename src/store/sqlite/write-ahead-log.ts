import type { Database, Statement } from "better-sqlite3";

/** The log is written back once so many pages of it wait: 16 MiB. With less, pages that change often are written more often. */
const DUE_PAGES = 4 * 1024;
/** At so many pages (64 MiB) the writer stops to begin the log anew. */
const LIMIT_PAGES = 16 * 1024;
/** What the log's file is cut to when it begins anew. */
const KEPT_BYTES = 32 * 1024 * 1024;
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
  readonly #look: Statement<[], CheckpointRow>;
  readonly #writeBack: Statement<[], CheckpointRow>;
  readonly #restart: Statement<[], CheckpointRow>;

  constructor(db: Database) {
    this.#db = db;
    this.#look = db.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#writeBack = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#restart = db.prepare("PRAGMA wal_checkpoint(RESTART)");
    db.pragma(`journal_size_limit = ${KEPT_BYTES}`);
  }

  /** Whether enough pages wait for another connection to write them back. */
  get isDue(): boolean {
    return this.#pages().waiting >= DUE_PAGES;
  }

  /** Writes back the few pages that are left; where they are many, only once the log has reached its limit. */
  finish(): void {
    const { all, waiting } = this.#pages();
    if (all >= LIMIT_PAGES) this.#beginAnew();
    else if (all > 0 && waiting < DUE_PAGES) this.#writeBack.get();
  }

  #beginAnew(): void {
    const before = this.#db.pragma("busy_timeout", { simple: true });
    this.#db.pragma(`busy_timeout = ${PATIENCE_MS}`);
    try {
      this.#restart.get();
    } finally {
      this.#db.pragma(`busy_timeout = ${before}`);
    }
  }

  #pages(): { readonly all: number; readonly waiting: number } {
    const { log = 0, checkpointed = 0 } = this.#look.get() ?? {};
    return { all: log, waiting: log - checkpointed };
  }
}
