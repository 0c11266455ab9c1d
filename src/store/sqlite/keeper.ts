import type { Database } from "better-sqlite3";
import type { EventChunk } from "../../core/chunk.js";
import { joinSmall } from "../join-small.js";
import type { Head } from "./heads.js";

/** A live execution's chunks are joined once there are so many. */
const LOOSE_CHUNKS = 500;
/** With so many ended executions waiting, joining no longer waits for a quiet moment. */
const ENDED_EXECUTIONS = 64;
/** A step looks at most at so many executions, chunks and bytes, so that no commit waits for it for more than some milliseconds. */
const STEP_EXECUTIONS = 32;
const STEP_CHUNKS = 500;
const STEP_BYTES = 1024 * 1024;
/** A step deletes at most so many chunks, of up to 64 KiB each. */
const PURGED_CHUNKS = 100;

interface Extent {
  readonly execution: number;
  readonly joined_sequence: number;
  readonly terminal: number;
}

interface ChunkRow {
  readonly first_sequence: number;
  readonly last_sequence: number;
  readonly bytes: Uint8Array;
}

/**
 * Keeps the file in shape between commits: joins small chunks into large ones,
 * so that a replay reads few rows, and deletes what was trimmed. Each step is
 * one short transaction; what a crash leaves undone is found again.
 */
export class Keeper {
  readonly #db: Database;
  readonly #statements;
  /** How durable commits are. */
  readonly #synchronous: unknown;
  /** Live executions with many small chunks. */
  readonly #live = new Map<number, Head>();
  /** How many executions have ended since none was left to join. 1 at first: a crash may have left some. */
  #ended = 1;
  #mayHaveTrimmed = true;

  constructor(db: Database) {
    this.#db = db;
    this.#statements = prepare(db);
    this.#synchronous = db.pragma("synchronous", { simple: true });
  }

  /** Takes notice of an execution that a commit wrote to. */
  noteWritten(head: Head): void {
    if (head.terminal) {
      this.#ended++;
      this.#live.delete(head.execution);
    } else if (head.looseChunks >= LOOSE_CHUNKS) {
      this.#live.set(head.execution, head);
    }
  }

  /** Takes notice of a trim. */
  noteTrimmed(): void {
    this.#mayHaveTrimmed = true;
  }

  /** Whether a step should be made at the next quiet moment. */
  get hasWork(): boolean {
    return this.#ended > 0 || this.#live.size > 0 || this.#mayHaveTrimmed;
  }

  /** Whether a step should not wait for a quiet moment. */
  get isUrgent(): boolean {
    return this.#ended >= ENDED_EXECUTIONS || this.#live.size > 0;
  }

  /** Makes one step, without a flush of its own: the next commit's covers it, and what a crash undoes is found again. */
  step(): void {
    this.#db.pragma("synchronous = NORMAL");
    try {
      this.#db.transaction(() => this.#work()).immediate();
    } finally {
      this.#db.pragma(`synchronous = ${this.#synchronous}`);
    }
  }

  #work(): void {
    const [live] = this.#live.values();
    if (live !== undefined) this.#joinLive(live);
    else if (this.#ended > 0) this.#joinEnded();
    else this.#purge();
  }

  #joinLive(head: Head): void {
    this.#live.delete(head.execution);
    const extent = this.#statements.extent.get(head.execution);
    if (extent === undefined) return;
    this.#join(extent);
    head.joinedSequence = this.#statements.extent.get(head.execution)?.joined_sequence ?? 0;
    head.looseChunks = this.#statements.countLoose.get(head.execution, head.joinedSequence) ?? 0;
    if (head.looseChunks >= LOOSE_CHUNKS) this.#live.set(head.execution, head);
  }

  #joinEnded(): void {
    const ended = this.#statements.ended.all(STEP_EXECUTIONS);
    let left = STEP_CHUNKS;
    for (const extent of ended) {
      if (left <= 0) return;
      left -= this.#join(extent);
    }
    this.#ended = ended.length < STEP_EXECUTIONS && left > 0 ? 0 : Math.max(1, this.#ended - ended.length);
  }

  /** Joins an execution's small chunks from where the last step left off; returns how many it looked at. */
  #join({ execution, joined_sequence: from, terminal }: Extent): number {
    const loose = this.#looseChunks(execution, from);
    const whole = joinSmall(loose);
    const kept = new Set(loose);
    for (const chunk of whole) {
      if (kept.has(chunk)) continue;
      this.#statements.deleteRange.run(execution, chunk.firstSequence, chunk.lastSequence);
      this.#statements.insert.run(execution, chunk.firstSequence, chunk.lastSequence, chunk.bytes);
    }
    // The last chunk may still grow, unless it is the log's.
    const isEnd = terminal === 1 && loose.length < STEP_CHUNKS && sizeOf(loose) < STEP_BYTES;
    const joined = isEnd ? undefined : whole.at(-2)?.lastSequence;
    if (isEnd) this.#statements.setJoinedToEnd.run(execution);
    else if (joined !== undefined) this.#statements.setJoined.run(joined, execution);
    return loose.length;
  }

  #looseChunks(execution: number, from: number): EventChunk[] {
    const chunks: EventChunk[] = [];
    let sizeBytes = 0;
    for (const row of this.#statements.loose.iterate(execution, from, STEP_CHUNKS)) {
      chunks.push({ firstSequence: row.first_sequence, lastSequence: row.last_sequence, bytes: row.bytes });
      sizeBytes += row.bytes.length;
      if (sizeBytes >= STEP_BYTES) break;
    }
    return chunks;
  }

  /** Deletes some chunks of trimmed executions. */
  #purge(): void {
    let left = PURGED_CHUNKS;
    while (left > 0) {
      const execution = this.#statements.trimmed.get();
      if (execution === undefined) {
        this.#mayHaveTrimmed = false;
        return;
      }
      const { changes } = this.#statements.purge.run(execution, execution, left);
      if (changes < left) this.#statements.forgetTrimmed.run(execution);
      left -= changes + 1;
    }
  }
}

function sizeOf(chunks: readonly EventChunk[]): number {
  return chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function prepare(db: Database) {
  return {
    extent: db.prepare<[number], Extent>(
      "SELECT execution, joined_sequence, terminal FROM executions WHERE execution = ?",
    ),
    ended: db.prepare<[number], Extent>(
      `SELECT execution, joined_sequence, terminal FROM executions
       WHERE terminal = 1 AND joined_sequence < last_sequence LIMIT ?`,
    ),
    countLoose: db
      .prepare<[number, number], number>("SELECT count(*) FROM event_chunks WHERE execution = ? AND last_sequence > ?")
      .pluck(),
    loose: db.prepare<[number, number, number], ChunkRow>(
      `SELECT first_sequence, last_sequence, bytes FROM event_chunks
       WHERE execution = ? AND last_sequence > ? ORDER BY last_sequence LIMIT ?`,
    ),
    deleteRange: db.prepare("DELETE FROM event_chunks WHERE execution = ? AND last_sequence BETWEEN ? AND ?"),
    insert: db.prepare(
      "INSERT INTO event_chunks (execution, first_sequence, last_sequence, bytes) VALUES (?, ?, ?, ?)",
    ),
    setJoined: db.prepare("UPDATE executions SET joined_sequence = ? WHERE execution = ?"),
    setJoinedToEnd: db.prepare("UPDATE executions SET joined_sequence = last_sequence WHERE execution = ?"),
    trimmed: db.prepare<[], number>("SELECT execution FROM trimmed_executions LIMIT 1").pluck(),
    purge: db.prepare(
      `DELETE FROM event_chunks WHERE chunk IN (
         SELECT chunk FROM event_chunks
         WHERE execution = ? AND last_sequence < (SELECT first_sequence FROM executions WHERE execution = ?)
         ORDER BY last_sequence LIMIT ?)`,
    ),
    forgetTrimmed: db.prepare("DELETE FROM trimmed_executions WHERE execution = ?"),
  };
}
