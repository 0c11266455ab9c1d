import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { decodeChunk } from "../../src/core/chunk.js";
import { isTerminal } from "../../src/core/lifecycle.js";
import type { Append, ExecutionKey } from "../../src/core/store.js";
import { Committer } from "../../src/store/sqlite/committer.js";
import { Keeper } from "../../src/store/sqlite/keeper.js";
import { LogReader } from "../../src/store/sqlite/log-reader.js";
import type { Operation } from "../../src/store/sqlite/messages.js";
import { type OpenFile, openFile } from "../../src/store/sqlite/open-file.js";
import { appending, creation, deltas, ending, newKey, range, rowOf, TIME_MS } from "./fixtures.js";
import { makeFolder, removeFolders } from "./folders.js";

/** The parts of the writer without its thread, so that each step is taken when the test says so. */
let file: OpenFile;
let keeper: Keeper;
let committer: Committer;
let path: string;

function reopen(synchronous: "normal" | "full" = "normal"): void {
  file = openFile({ file: path, synchronous, maxBytes: undefined }, 0);
  keeper = new Keeper(file.db);
  committer = new Committer(file.db, path, (head) => keeper.noteWritten(head));
}

beforeEach(() => {
  path = join(makeFolder(), "harness.db");
  reopen();
  return () => file.close();
});
afterAll(removeFolders);

function commit(...writes: readonly Append[]): void {
  const operations = writes.map(({ chunk, ...write }): Operation => {
    const terminal = write.row !== undefined && isTerminal(write.row.state);
    return { kind: "append", write, chunks: chunk === undefined ? [] : [chunk], terminal };
  });
  expect(committer.commit(operations).filter((outcome) => outcome !== undefined)).toEqual([]);
}

/** Makes an execution of `count` events, each in a commit of its own. */
function makeOneByOne(count: number, sizeBytes = 200): ExecutionKey {
  const key = newKey();
  commit(creation(key));
  for (let last = 1; last < count; last++) {
    commit(appending(key, last, 1, { chunk: deltas(key, last, 1, sizeBytes) }));
  }
  return key;
}

function keep(): void {
  for (let step = 0; keeper.hasWork; step++) {
    expect(step).toBeLessThan(1000);
    keeper.step();
  }
}

function chunkCount(): number {
  return file.db.prepare<[], number>("SELECT count(*) FROM event_chunks").pluck().get() ?? -1;
}

function sequences(key: ExecutionKey, after = 0): number[] {
  const slice = new LogReader(file.db).read(key, after, 1e9);
  return slice!.chunks.flatMap(decodeChunk).map(({ sequence }) => sequence);
}

test("the appends of one execution within one commit are one row", () => {
  const key = newKey();
  commit(creation(key), ...range(1, 99).map((last) => appending(key, last)));
  expect(chunkCount()).toBe(1);
  expect(sequences(key)).toEqual(range(1, 100));
});

test("an execution that ended has its small chunks joined to about 64 KiB each", () => {
  const key = makeOneByOne(3000);
  commit(ending(key, 3000));
  keep();
  const sizes = file.db
    .prepare<[], number>("SELECT length(bytes) FROM event_chunks ORDER BY last_sequence")
    .pluck()
    .all();
  expect(sizes.length).toBeLessThan(18);
  for (const size of sizes) expect(size).toBeLessThanOrEqual(64 * 1024);
  expect(sequences(key)).toEqual(range(1, 3001));
  expect(sequences(key, 1499)[0]).toBeLessThanOrEqual(1500);
});

test("a live execution has its chunks joined from time to time, and goes on", () => {
  const key = makeOneByOne(501);
  expect(keeper.isUrgent).toBe(true);
  keep();
  expect(chunkCount()).toBeLessThan(10);
  for (let last = 501; last < 990; last++) commit(appending(key, last));
  expect(keeper.isUrgent).toBe(false);
  expect(sequences(key)).toEqual(range(1, 990));
});

test("commits are as durable after the keeper's steps as before, also where one failed", () => {
  const isFull = (): boolean => file.db.pragma("synchronous", { simple: true }) === 2;
  file.close();
  reopen("full");
  makeOneByOne(501);
  keep();
  expect(isFull()).toBe(true);
  file.db.exec("DROP TABLE trimmed_executions");
  keeper.noteTrimmed();
  expect(() => keep()).toThrow("trimmed_executions");
  expect(isFull()).toBe(true);
});

test("a live execution of 4,000 tiny events never holds more than some hundred chunks", {
  timeout: 60_000,
}, () => {
  const key = newKey();
  commit(creation(key));
  let most = 0;
  for (let last = 1; last < 4000; last++) {
    commit(appending(key, last));
    if (keeper.isUrgent) keeper.step();
    if (last % 100 === 0) most = Math.max(most, chunkCount());
  }
  expect(most).toBeLessThan(700);
  expect(sequences(key)).toEqual(range(1, 4000));
});

test("what a crash left to join is joined after the next start", () => {
  const keys = range(1, 100).map(() => makeOneByOne(5));
  for (const key of keys) commit(ending(key, 5));
  file.close();
  reopen();
  keep();
  expect(chunkCount()).toBe(100);
  for (const key of keys) expect(sequences(key)).toEqual(range(1, 6));
});

test("an event larger than a chunk stays alone", () => {
  const key = newKey();
  commit(creation(key), appending(key, 1, 1, { chunk: deltas(key, 1, 1, 200_000) }), ending(key, 2));
  keep();
  expect(chunkCount()).toBe(3);
  expect(sequences(key)).toEqual([1, 2, 3]);
});

test("trimmed chunks are deleted bit by bit, also after a crash, and others are not", () => {
  const [old, live] = [makeOneByOne(500), makeOneByOne(10)];
  commit(appending(old, 500, 1, { row: rowOf(ExecutionState.FAILED, { endTimeMs: TIME_MS }) }));
  const trim = { endedBeforeMs: TIME_MS + 1, labels: [] };
  expect(committer.commit([{ kind: "trim", trim }])).toEqual([{ value: { trimmed: 1, isLast: true } }]);
  expect(sequences(old)).toEqual([]);
  file.close();
  reopen();
  keep();
  expect(chunkCount()).toBe(10);
  expect(sequences(live)).toEqual(range(1, 10));
  expect(keeper.hasWork).toBe(false);
});

test("a commit that fails leaves the writer's memory as it was", () => {
  const key = makeOneByOne(3);
  file.db.exec(
    "CREATE TRIGGER broken BEFORE INSERT ON event_chunks WHEN NEW.last_sequence = 5 BEGIN SELECT RAISE(ABORT, 'broken'); END",
  );
  const claim: Operation = { kind: "claim", key, owner: "node-a", nowMs: 0, leaseUntilMs: 100 };
  const { chunk, ...write } = appending(key, 3, 2);
  const append: Operation = { kind: "append", write, chunks: [chunk!], terminal: false };
  const outcomes = committer.commit([append, append]);
  expect(outcomes.map((outcome) => outcome?.refusal?.kind)).toEqual(["unavailable", "unavailable"]);
  file.db.exec("DROP TRIGGER broken");
  expect(committer.commit([claim])).toEqual([{ value: 1 }]);
  commit(appending(key, 3, 2));
  expect(sequences(key)).toEqual(range(1, 5));
});
