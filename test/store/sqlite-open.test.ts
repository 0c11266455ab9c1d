import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import Sqlite from "better-sqlite3";
import { afterAll, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { isHarnessError } from "../../src/core/errors.js";
import { SOURCE_OPTIONS } from "../../src/store/sqlite/threads.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { creation, makeExecution, newKey, readSequences } from "./fixtures.js";
import { makeFolder, removeFolders } from "./folders.js";

const APPENDER = fileURLToPath(new URL("./appender.child.ts", import.meta.url));

afterAll(removeFolders);

/** Opens `file`, which must fail with STORE_UNAVAILABLE, its name and `code`; returns the message. */
async function refusal(file: string, code: string): Promise<string> {
  const error = await openSqliteStore({ path: file }).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!isHarnessError(error, ErrorReason.STORE_UNAVAILABLE)) throw new Error(`opened, or failed with ${error}`);
  expect(error.metadata).toEqual({ file, code });
  expect(error.message).toContain(file);
  return error.message;
}

/** Makes a database with one execution, closed, and returns its file. */
async function makeDatabase(): Promise<string> {
  const path = join(makeFolder(), "harness.db");
  const store = await openSqliteStore({ path });
  await makeExecution(store, {}, { count: 200 });
  await store.close();
  return path;
}

test("a data folder is made with its parents, for its owner alone, and holds harness.db", async () => {
  const dataDir = join(makeFolder(), "a", "b");
  const store = await openSqliteStore({ dataDir });
  await store.append(creation(newKey()));
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  const files = ["harness.db", "harness.db-wal", "harness.db.lock"];
  for (const name of files) expect(statSync(join(dataDir, name)).mode & 0o777).toBe(0o600);
  await store.close();
  expect(readdirSync(dataDir).sort()).toEqual(["harness.db", "harness.db.lock"]);
});

test("a lock that others could read, and hold, is its owner's again", async () => {
  const file = await makeDatabase();
  chmodSync(`${file}.lock`, 0o644);
  const store = await openSqliteStore({ path: file });
  expect(statSync(`${file}.lock`).mode & 0o777).toBe(0o600);
  await store.close();
});

test("a second store on the same file is refused, in this process and in another, until the first is closed", async () => {
  const path = await makeDatabase();
  const store = await openSqliteStore({ path });
  expect(await refusal(path, "IN_USE")).toContain("in use by another process");
  const key = await makeExecution(store);
  await store.close();
  const again = await openSqliteStore({ path });
  expect(await readSequences(again, key)).toEqual([1]);
  await again.close();
});

test("a store that another process holds is refused, and free once that process is killed (−9)", async () => {
  const path = join(makeFolder(), "harness.db");
  const args = ["--experimental-transform-types", ...SOURCE_OPTIONS, APPENDER, dirname(path)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(createInterface({ input: child.stdout }), "line");
  expect(await refusal(path, "IN_USE")).toContain("in use by another process");
  child.kill("SIGKILL");
  await once(child, "exit");
  await (await openSqliteStore({ path })).close();
});

test.each([
  [
    "text",
    Buffer.from("this is not a database at all, but it is long enough to be read as one\n".repeat(20)),
    "SQLITE_NOTADB",
  ],
  ["nothing", Buffer.alloc(0), "FOREIGN"],
  ["zeroes", Buffer.alloc(8192), "SQLITE_NOTADB"],
])("a file that holds %s is refused and left as it was", async (_, content, code) => {
  const file = join(makeFolder(), "harness.db");
  writeFileSync(file, content);
  expect(await refusal(file, code)).toMatch(/Restore a backup|Choose another data folder/);
  expect(readFileSync(file).equals(content)).toBe(true);
});

test("a database of another program is refused and left as it was", async () => {
  const file = join(makeFolder(), "harness.db");
  const other = new Sqlite(file);
  other.exec("CREATE TABLE notes (text TEXT)");
  other.close();
  const before = readFileSync(file);
  expect(await refusal(file, "FOREIGN")).toContain("not a database of this program");
  expect(readFileSync(file).equals(before)).toBe(true);
});

test("a file that was cut short is refused", async () => {
  const file = await makeDatabase();
  truncateSync(file, statSync(file).size - 4096 * 3);
  expect(await refusal(file, "SQLITE_CORRUPT")).toContain("is damaged");
});

test("a file with a damaged page is refused", async () => {
  const file = await makeDatabase();
  const bytes = readFileSync(file);
  bytes.fill(0xa5, 4096 * 2, 4096 * 6);
  writeFileSync(file, bytes);
  expect(await refusal(file, "SQLITE_CORRUPT")).toContain("Restore a backup");
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

test("a file of a newer version is refused and names the way out", async () => {
  const file = await makeDatabase();
  const db = new Sqlite(file);
  db.pragma("user_version = 999");
  db.close();
  expect(await refusal(file, "NEWER_SCHEMA")).toMatch(/newer version .*999.* Run that version or a later one/);
});

test("a file whose schema was made otherwise is refused", async () => {
  const file = await makeDatabase();
  const db = new Sqlite(file);
  db.exec("UPDATE schema_migrations SET checksum = 'other' WHERE number = 2");
  db.close();
  expect(await refusal(file, "OTHER_SCHEMA")).toContain("step 2 (side-rows)");
});

test("a file that is gone while its log is there is not made anew", async () => {
  const path = await makeDatabase();
  renameSync(path, `${path}.moved`);
  writeFileSync(`${path}-wal`, "log");
  expect(await refusal(path, "MISSING")).toContain("Put the file back");
  expect(existsSync(path)).toBe(false);
});

test("what a crash left of a file that was being made does not matter", async () => {
  const path = join(makeFolder(), "harness.db");
  writeFileSync(`${path}.new`, "half a database");
  writeFileSync(`${path}.new-journal`, "half a journal");
  await (await openSqliteStore({ path })).close();
  expect(readdirSync(dirname(path)).sort()).toEqual(["harness.db", "harness.db.lock"]);
});

test("a path that leads through a file, or to a folder, is refused", async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, "file"), "");
  await refusal(join(folder, "file", "harness.db"), "EEXIST");
  mkdirSync(join(folder, "harness.db"));
  await refusal(join(folder, "harness.db"), "SQLITE_CANTOPEN");
});

test("a folder that this user may not write is refused", async () => {
  const file = await makeDatabase();
  for (const path of [file, `${file}.lock`]) chmodSync(path, 0o666);
  chmodSync(dirname(file), 0o555);
  const restore = becomeNobody();
  try {
    expect(await refusal(file, "SQLITE_READONLY_DIRECTORY")).toContain("the right to write it and its folder");
  } finally {
    restore();
  }
});

test("a file that this user may not write is refused", async () => {
  const file = await makeDatabase();
  for (const path of [dirname(file), `${file}.lock`]) chmodSync(path, 0o777);
  chmodSync(file, 0o444);
  const restore = becomeNobody();
  try {
    expect(await refusal(file, "EACCES")).toContain("the right to read and write");
  } finally {
    restore();
  }
});

test("options that make no sense are a bug of the caller", async () => {
  for (const commitWindowMs of [-1, 6, Number.NaN]) {
    await expect(openSqliteStore({ dataDir: makeFolder(), commitWindowMs })).rejects.toThrow(RangeError);
  }
});

test("a store works the same with synchronous normal and with a commit window", async () => {
  const store = await openSqliteStore({ dataDir: makeFolder(), synchronous: "normal", commitWindowMs: 2 });
  const keys = await Promise.all(Array.from({ length: 50 }, () => makeExecution(store, {}, { count: 4 })));
  for (const key of keys) expect(await readSequences(store, key)).toEqual([1, 2, 3, 4]);
  expect(store.durable).toBe(true);
  await store.close();
});

/** Gives up the rights of root, where the tests run as root, who may write everything. */
function becomeNobody(): () => void {
  if (process.getuid?.() !== 0) return () => {};
  process.seteuid?.(65534);
  return () => process.seteuid?.(0);
}
