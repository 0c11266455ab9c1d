// usage: node --experimental-transform-types --import ./scripts/source.mjs bench/store.ts [full|normal] [memory]
// Prints events a second of the SQLite store beside those of bare better-sqlite3 in this thread, in the same run: the
// figures move with the machine, their ratio hardly does. Events are of about 200 bytes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite, { type Database } from "better-sqlite3";
import { type EventChunk, joinChunks, sliceChunk } from "../src/core/chunk.js";
import type { ExecutionKey, Store } from "../src/core/store.js";
import { openMemoryStore } from "../src/store/memory.js";
import { openSqliteStore } from "../src/store/sqlite.js";
import { appending, creation, deltas, ending, newKey } from "../test/store/fixtures.js";

const synchronous = process.argv.includes("normal") ? "normal" : "full";
const folder = mkdtempSync(join(tmpdir(), "harness-bench-"));
const EVENT_BYTES = 160;
/** The last execution that was written bare. */
let execution = 0;

try {
  const store = process.argv.includes("memory")
    ? openMemoryStore()
    : await openSqliteStore({ dataDir: folder, synchronous });
  const bare = openBare();
  console.log(`${store.kind}, synchronous = ${synchronous}\n`);
  report("1 event a commit", await oneByOne(store, 3000), bareCommits(bare, 3000, 1));
  report("64 writers, 1 event each", await writers(store, 64, 300), bareCommits(bare, 300, 64, 64));
  report("1,000 events a write", await large(store, 200), bareCommits(bare, 200, 1000));
  report("1,000 writes at once", await burst(store, 100), bareCommits(bare, 100, 1000));
  const key = await makeLong(store);
  report("replay 100,000 events", await replay(store, key), bareReplay(bare));
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

interface Result {
  readonly events: number;
  readonly ms: number;
  /** CPU time of all threads, in microseconds. */
  readonly cpuMicros: number;
  /** How long each write or read took, in milliseconds. */
  readonly latencies: readonly number[];
}

function report(name: string, ours: Result, bare: Result): void {
  const rate = (result: Result): number => (result.events * 1000) / result.ms;
  const at = (part: number): string => {
    const sorted = ours.latencies.toSorted((a, b) => a - b);
    return (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(2);
  };
  const figures = [rate(ours), rate(bare)].map((value) => Math.round(value).toLocaleString("en").padStart(10));
  const ratio = (rate(ours) / rate(bare)).toFixed(2);
  const [cpu, bareCpu] = [ours, bare].map((result) => (result.cpuMicros / result.events).toFixed(1));
  console.log(
    `${name.padEnd(26)}${figures[0]} events/s   bare ${figures[1]}   ratio ${ratio}   CPU ${cpu} (bare ${bareCpu}) µs/event   ` +
      `p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)} ms`,
  );
}

interface Start {
  readonly time: number;
  readonly cpu: NodeJS.CpuUsage;
}

function begin(): Start {
  return { time: performance.now(), cpu: process.cpuUsage() };
}

function end({ time, cpu }: Start): Pick<Result, "ms" | "cpuMicros"> {
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - time, cpuMicros: user + system };
}

async function timed(latencies: number[], work: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  await work();
  latencies.push(performance.now() - start);
}

async function measure(events: number, work: (latencies: number[]) => Promise<void>): Promise<Result> {
  const latencies: number[] = [];
  const start = begin();
  await work(latencies);
  return { events, ...end(start), latencies };
}

async function create(store: Store): Promise<ExecutionKey> {
  const key = newKey();
  await store.append(creation(key));
  return key;
}

async function oneByOne(store: Store, commits: number): Promise<Result> {
  const key = await create(store);
  const chunks = Array.from({ length: commits }, (_, index) => deltas(key, index + 1, 1, EVENT_BYTES));
  return measure(commits, async (latencies) => {
    for (const [index, chunk] of chunks.entries()) {
      await timed(latencies, () => store.append(appending(key, index + 1, 1, { chunk })));
    }
  });
}

async function writers(store: Store, count: number, each: number): Promise<Result> {
  const keys = await Promise.all(Array.from({ length: count }, () => create(store)));
  const chunk = (key: ExecutionKey, last: number): EventChunk => deltas(key, last, 1, EVENT_BYTES);
  const prepared = keys.map((key) => Array.from({ length: each }, (_, index) => chunk(key, index + 1)));
  return measure(count * each, async (latencies) => {
    const write = async (key: ExecutionKey, chunks: readonly EventChunk[]): Promise<void> => {
      for (const [index, chunk] of chunks.entries()) {
        await timed(latencies, () => store.append(appending(key, index + 1, 1, { chunk })));
      }
    };
    await Promise.all(keys.map((key, index) => write(key, prepared[index] ?? [])));
  });
}

async function large(store: Store, commits: number): Promise<Result> {
  const key = await create(store);
  const chunks = Array.from({ length: commits }, (_, index) => deltas(key, index * 1000 + 1, 1000, EVENT_BYTES));
  return measure(commits * 1000, async (latencies) => {
    for (const [index, chunk] of chunks.entries()) {
      await timed(latencies, () => store.append(appending(key, index * 1000 + 1, 1000, { chunk })));
    }
  });
}

async function burst(store: Store, rounds: number): Promise<Result> {
  const key = await create(store);
  const chunks = Array.from({ length: rounds * 1000 }, (_, index) => deltas(key, index + 1, 1, EVENT_BYTES));
  return measure(rounds * 1000, async (latencies) => {
    for (let round = 0; round < rounds; round++) {
      const first = round * 1000;
      await timed(latencies, () =>
        Promise.all(
          chunks
            .slice(first, first + 1000)
            .map((chunk, index) => store.append(appending(key, first + index + 1, 1, { chunk }))),
        ),
      );
    }
  });
}

/** An execution of 100,000 events that came ten at a time and has ended. */
async function makeLong(store: Store): Promise<ExecutionKey> {
  const key = await create(store);
  for (let last = 1; last < 100_000; last += 1000) {
    const writes = Array.from({ length: 100 }, (_, index) => last + index * 10);
    const chunks = writes.map((from) => deltas(key, from, 10, EVENT_BYTES));
    await Promise.all(
      writes.map((from, index) => store.append(appending(key, from, 10, { chunk: chunks[index] as EventChunk }))),
    );
  }
  await store.append(ending(key, 100_001));
  return key;
}

async function replay(store: Store, key: ExecutionKey): Promise<Result> {
  return measure(100_000, async (latencies) => {
    let after = 0;
    for (let chunks: EventChunk[] = []; ; ) {
      await timed(latencies, async () => {
        const slice = await store.read(key, after, 256 * 1024);
        chunks = (slice?.chunks ?? []).map((chunk) => sliceChunk(chunk, after)).filter((chunk) => chunk !== undefined);
      });
      if (chunks.length === 0) return;
      after = joinChunks(chunks).lastSequence;
    }
  });
}

function openBare(): Database {
  const db = new Sqlite(join(folder, "bare.db"));
  db.pragma("journal_mode = WAL");
  db.pragma(`synchronous = ${synchronous}`);
  db.exec(
    "CREATE TABLE events (id INTEGER PRIMARY KEY, execution INTEGER, sequence INTEGER, bytes BLOB, UNIQUE (execution, sequence))",
  );
  return db;
}

/** `commits` transactions of `rows` rows each, over so many executions: what the machine can do. */
function bareCommits(db: Database, commits: number, rows: number, executions = 1): Result {
  const first = execution + 1;
  execution += executions;
  const insert = db.prepare("INSERT INTO events (execution, sequence, bytes) VALUES (?, ?, ?)");
  const bytes = Buffer.alloc(EVENT_BYTES + 40, 1);
  let sequence = 0;
  const commit = db.transaction(() => {
    for (let row = 0; row < rows; row++) insert.run(first + (row % executions), ++sequence, bytes);
  });
  const start = begin();
  for (let number = 0; number < commits; number++) commit.immediate();
  return { events: commits * rows, ...end(start), latencies: [] };
}

/** Reads 100,000 rows, 1,000 at a time, and joins them. */
function bareReplay(db: Database): Result {
  const select = db
    .prepare<[number, number], Buffer>(
      "SELECT bytes FROM events WHERE execution = ? AND sequence > ? ORDER BY sequence LIMIT 1000",
    )
    .pluck();
  const start = begin();
  for (let after = 0; after < 100_000; after += 1000) Buffer.concat(select.all(execution, after));
  return { events: 100_000, ...end(start), latencies: [] };
}
