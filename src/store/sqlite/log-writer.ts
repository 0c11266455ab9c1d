import type { Database, Statement } from "better-sqlite3";
import type { EventChunk } from "../../core/chunk.js";
import type { ExecutionRow } from "../../core/store.js";
import { joinSmall } from "../join-small.js";
import type { Head } from "./heads.js";
import type { AppendOperation } from "./messages.js";

/** What a commit writes to one execution, gathered from all its writes: the last row and time win. */
interface Gathered {
  readonly chunks: EventChunk[];
  updateTimeMs: number;
  row: ExecutionRow | undefined;
  terminal: boolean;
}

/** Gathers the events and rows of a commit by execution, so that each is written once. */
export class LogWriter {
  readonly #gathered = new Map<Head, Gathered>();
  readonly #written = new Set<Head>();
  readonly #insertChunk: Statement<[number, number, number, Uint8Array]>;
  readonly #moveHead: Statement<[number, number, number]>;
  readonly #moveState: Statement<[number, number, number, number, number | null, number]>;
  readonly #writeRow: Statement<[number, Uint8Array, string]>;

  constructor(db: Database) {
    this.#insertChunk = db.prepare(
      "INSERT INTO event_chunks (execution, first_sequence, last_sequence, bytes) VALUES (?, ?, ?, ?)",
    );
    this.#moveHead = db.prepare("UPDATE executions SET last_sequence = ?, update_time_ms = ? WHERE execution = ?");
    this.#moveState = db.prepare(
      `UPDATE executions SET last_sequence = ?, update_time_ms = ?, state = ?, terminal = ?, end_time_ms = ?
       WHERE execution = ?`,
    );
    this.#writeRow = db.prepare(
      `INSERT INTO execution_rows (execution, bytes, fold) VALUES (?, ?, ?)
       ON CONFLICT (execution) DO UPDATE SET bytes = excluded.bytes, fold = excluded.fold`,
    );
  }

  /** Takes up a write that was judged good. */
  add(head: Head, { write, chunks, terminal }: AppendOperation): void {
    let gathered = this.#gathered.get(head);
    if (gathered === undefined) {
      gathered = { chunks: [], updateTimeMs: 0, row: undefined, terminal: false };
      this.#gathered.set(head, gathered);
    }
    gathered.chunks.push(...chunks);
    gathered.updateTimeMs = write.updateTimeMs;
    if (write.row !== undefined) {
      gathered.row = write.row;
      gathered.terminal = terminal;
      head.terminal = terminal;
      head.endTimeMs = write.row.endTimeMs;
    }
    head.lastSequence = write.lastSequence;
  }

  /** Writes what was gathered since the last flush. */
  flush(): void {
    for (const [head, gathered] of this.#gathered) {
      this.#write(head, gathered);
      this.#written.add(head);
    }
    this.#gathered.clear();
  }

  /** Forgets what was gathered and returns the executions that were written. */
  end(): readonly Head[] {
    const written = [...this.#written];
    this.#gathered.clear();
    this.#written.clear();
    return written;
  }

  #write(head: Head, { chunks, updateTimeMs, row, terminal }: Gathered): void {
    const { execution, lastSequence } = head;
    for (const chunk of joinSmall(chunks)) {
      this.#insertChunk.run(execution, chunk.firstSequence, chunk.lastSequence, chunk.bytes);
      head.looseChunks++;
    }
    if (row === undefined) {
      this.#moveHead.run(lastSequence, updateTimeMs, execution);
      return;
    }
    const endTimeMs = row.endTimeMs ?? null;
    this.#moveState.run(lastSequence, updateTimeMs, row.state, Number(terminal), endTimeMs, execution);
    this.#writeRow.run(execution, row.bytes, row.fold);
  }
}
