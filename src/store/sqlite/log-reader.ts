import type { Database, Statement } from "better-sqlite3";
import type { EventChunk } from "../../core/chunk.js";
import type { ExecutionKey, LogSlice } from "../../core/store.js";
import { joinSmall } from "../join-small.js";

interface ExtentRow {
  readonly execution: number;
  readonly first_sequence: number;
  readonly last_sequence: number;
  readonly state: number;
}

type ChunkRow = readonly [firstSequence: number, lastSequence: number, bytes: Uint8Array];

/** Reads logs: a range of rows, joined. */
export class LogReader {
  readonly #extent: Statement<[string, string], ExtentRow>;
  readonly #chunks: Statement<[number, number], ChunkRow>;

  constructor(db: Database) {
    this.#extent = db.prepare(
      "SELECT execution, first_sequence, last_sequence, state FROM executions WHERE tenant_id = ? AND execution_id = ?",
    );
    this.#chunks = db
      .prepare<[number, number], ChunkRow>(
        `SELECT first_sequence, last_sequence, bytes FROM event_chunks
         WHERE execution = ? AND last_sequence > ? ORDER BY last_sequence`,
      )
      .raw();
  }

  read({ tenantId, executionId }: ExecutionKey, after: number, maxBytes: number): LogSlice | undefined {
    const extent = this.#extent.get(tenantId, executionId);
    if (extent === undefined) return undefined;
    const dropped = extent.first_sequence - 1;
    return {
      chunks: joinSmall(this.#take(extent.execution, Math.max(after, dropped), maxBytes)),
      headSequence: extent.last_sequence,
      state: extent.state,
      firstSequence: extent.first_sequence,
    };
  }

  *#take(execution: number, after: number, maxBytes: number): Generator<EventChunk> {
    let sizeBytes = 0;
    for (const [firstSequence, lastSequence, bytes] of this.#chunks.iterate(execution, after)) {
      yield { firstSequence, lastSequence, bytes };
      sizeBytes += bytes.length;
      if (sizeBytes >= maxBytes) return;
    }
  }
}
