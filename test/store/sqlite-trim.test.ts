import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { isTerminal } from "../../src/core/lifecycle.js";
import type { Append } from "../../src/core/store.js";
import { Committer } from "../../src/store/sqlite/committer.js";
import type { Operation } from "../../src/store/sqlite/messages.js";
import { type OpenFile, openFile } from "../../src/store/sqlite/open-file.js";
import { creation, deltas, ending, newKey, range, TIME_MS } from "./fixtures.js";
import { makeFolder, removeFolders } from "./folders.js";

let file: OpenFile;
let committer: Committer;
let path: string;

function reopen(): void {
  file = openFile({ file: path, synchronous: "normal", maxBytes: undefined }, 0);
  committer = new Committer(file.db, path, () => {});
}

beforeEach(() => {
  path = join(makeFolder(), "harness.db");
  reopen();
  return () => file.close();
});
afterAll(removeFolders);

function toOperation({ chunk, ...write }: Append): Operation {
  const terminal = write.row !== undefined && isTerminal(write.row.state);
  return { kind: "append", write, chunks: chunk === undefined ? [] : [chunk], terminal };
}

function makeEnded(count: number, labels: Record<string, string> = {}): void {
  const keys = range(1, count).map(() => newKey());
  const writes = keys.flatMap((key) => [creation(key, { labels }), ending(key, 1)]);
  expect(committer.commit(writes.map(toOperation)).filter((outcome) => outcome !== undefined)).toEqual([]);
}

const TRIM: Operation = { kind: "trim", trim: { endedBeforeMs: TIME_MS * 2, labels: [["env", "test"]] } };

function trim(): unknown {
  return committer.commit([TRIM])[0]?.value;
}

test("what a rule has passed over is not looked at again before the next start", () => {
  makeEnded(300);
  expect([trim(), trim()]).toEqual([
    { trimmed: 0, isLast: false },
    { trimmed: 0, isLast: true },
  ]);
  // Labels never change; that these do shows who looks.
  file.db.exec(`INSERT INTO execution_labels (tenant_id, name, value, create_time_ms, execution_id, execution)
    SELECT tenant_id, 'env', 'test', create_time_ms, execution_id, execution FROM executions`);
  expect(trim()).toEqual({ trimmed: 0, isLast: true });
  makeEnded(1, { env: "test" });
  expect(trim()).toEqual({ trimmed: 1, isLast: true });
  file.close();
  reopen();
  expect(trim()).toEqual({ trimmed: 200, isLast: false });
  expect(trim()).toEqual({ trimmed: 100, isLast: true });
});

test("a trim whose commit fails is done again by the next", () => {
  makeEnded(1, { env: "test" });
  file.db.exec("CREATE TRIGGER broken BEFORE INSERT ON event_chunks BEGIN SELECT RAISE(ABORT, 'broken'); END");
  const key = newKey();
  const [trimmed, refused] = committer.commit([TRIM, toOperation(creation(key, {}, { chunk: deltas(key, 0, 1) }))]);
  expect(trimmed?.value).toEqual({ trimmed: 1, isLast: true });
  expect(refused?.refusal?.kind).toBe("unavailable");
});
