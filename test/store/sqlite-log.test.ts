import { statSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { FileSettings } from "../../src/store/sqlite/messages.js";
import { type OpenFile, openBeside, openFile } from "../../src/store/sqlite/open-file.js";
import { WriteAheadLog } from "../../src/store/sqlite/write-ahead-log.js";
import { makeFolder, removeFolders } from "./folders.js";

const MIB = 1024 * 1024;

let settings: FileSettings;
let file: OpenFile;
let beside: Database;
let log: WriteAheadLog;

beforeEach(() => {
  settings = { file: join(makeFolder(), "harness.db"), synchronous: "normal", maxBytes: undefined };
  file = openFile(settings, 0);
  beside = openBeside(settings);
  log = new WriteAheadLog(file.db);
  file.db.exec("CREATE TABLE filler (bytes BLOB)");
  return () => {
    beside.close();
    file.close();
  };
});
afterAll(removeFolders);

function fill(sizeBytes: number): void {
  file.db.prepare("INSERT INTO filler VALUES (zeroblob(?))").run(sizeBytes);
}

function logPages(): number {
  const [row] = file.db.pragma("wal_checkpoint(NOOP)") as readonly { readonly log: number }[];
  return row?.log ?? -1;
}

test("the log is due after some megabytes, and begins anew once both connections have written it back", () => {
  expect(log.isDue).toBe(false);
  fill(17 * MIB);
  expect(log.isDue).toBe(true);
  beside.pragma("wal_checkpoint(PASSIVE)");
  fill(1000);
  log.finish();
  expect(log.isDue).toBe(false);
  fill(1000);
  expect(logPages()).toBeLessThan(20);
});

test("the writer leaves much to the other connection, until the log has reached its limit", () => {
  fill(20 * MIB);
  log.finish();
  expect(log.isDue).toBe(true);
  fill(50 * MIB);
  log.finish();
  expect(log.isDue).toBe(false);
  fill(1000);
  expect(logPages()).toBeLessThan(20);
  expect(statSync(`${settings.file}-wal`).size).toBeLessThanOrEqual(33 * MIB);
});

test("a reader in the middle of a read delays the log's new beginning and nothing else", () => {
  fill(70 * MIB);
  beside.exec("BEGIN");
  beside.prepare("SELECT count(*) FROM filler").get();
  fill(MIB);
  log.finish();
  fill(1000);
  expect(logPages()).toBeGreaterThan(16 * 1024);
  beside.exec("COMMIT");
  log.finish();
  fill(1000);
  expect(logPages()).toBeLessThan(20);
});
