import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { rememberFiles } from "../../src/store/sqlite/same-files.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { appending, creation, makeExecution, newKey, readSequences } from "./fixtures.js";
import { makeFolder, removeFolders } from "./folders.js";

afterAll(removeFolders);

/** What is done to a store's file, by what it does; which of its files is named, and the way out. */
const REMOVALS: Readonly<Record<string, readonly [(file: string) => void, string, string]>> = {
  "folder is removed": [(file) => rmSync(dirname(file), { recursive: true }), "", "restore a backup"],
  "folder is moved away": [
    (file) => renameSync(dirname(file), `${dirname(file)}.moved`),
    "",
    "put the data folder back",
  ],
  "database is replaced by another": [replace, "", "restore a backup"],
  "log is removed": [(file) => rmSync(`${file}-wal`), "-wal", "restore a backup"],
  "lock is removed": [(file) => rmSync(`${file}.lock`), ".lock", "no other server uses the data folder"],
};

function replace(file: string): void {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}

test.each(Object.entries(REMOVALS))(
  "a store whose %s is lost, and keeps no more",
  async (_, [remove, name, wayOut]) => {
    const file = join(makeFolder(), "data", "harness.db");
    const store = await openSqliteStore({ path: file });
    const key = await makeExecution(store);
    remove(file);
    const lost = await store.lost;
    expect(lost).toMatchObject({ reason: ErrorReason.STORE_UNAVAILABLE, metadata: { file, code: "REPLACED" } });
    expect(lost?.message).toContain(`${file}${name} was removed or replaced while the runtime used it; `);
    expect(lost?.message).toContain(wayOut);
    await expect(store.append(appending(key, 1))).rejects.toBe(lost);
    await expect(store.append(creation(newKey()))).rejects.toBe(lost);
    await store.close();
  },
);

test("a folder that was moved away and is put back has all that was kept before", async () => {
  const folder = join(makeFolder(), "data");
  const store = await openSqliteStore({ dataDir: folder });
  const key = await makeExecution(store, {}, { count: 3 });
  renameSync(folder, `${folder}.moved`);
  await store.lost;
  await store.close();
  renameSync(`${folder}.moved`, folder);
  const again = await openSqliteStore({ dataDir: folder });
  expect(await readSequences(again, key)).toEqual([1, 2, 3]);
  await again.close();
});

test("a store that is never idle finds out within some commits", async () => {
  const folder = join(makeFolder(), "data");
  const store = await openSqliteStore({ dataDir: folder, synchronous: "normal" });
  let kept = 0;
  const write = async (): Promise<never> => {
    for (;;) {
      await store.append(creation(newKey()));
      kept++;
    }
  };
  rmSync(folder, { recursive: true });
  const results = await Promise.allSettled([write(), write(), write()]);
  for (const result of results) expect(result).toMatchObject({ status: "rejected", reason: await store.lost });
  expect(kept).toBeLessThan(100);
  await store.close();
});

test("a store in whose file another process wrote an execution's events is lost, and does not write over them", async () => {
  const file = join(makeFolder(), "harness.db");
  const store = await openSqliteStore({ path: file });
  const key = await makeExecution(store);
  const other = new Sqlite(file);
  other.exec(`INSERT INTO event_chunks (execution, first_sequence, last_sequence, bytes)
    SELECT execution, 2, 2, x'00' FROM executions`);
  const call = store.append(appending(key, 1));
  await expect(call).rejects.toMatchObject({ metadata: { file, code: "OTHER_WRITER" } });
  await expect(call).rejects.toThrow(
    `${file} was written by another process while the runtime used it; first see that`,
  );
  await expect(call).rejects.toBe(await store.lost);
  await expect(store.append(creation(newKey()))).rejects.toBe(await store.lost);
  expect(other.prepare("SELECT count(*) FROM event_chunks").pluck().get()).toBe(2);
  other.close();
  await store.close();
});

test("files that cannot be looked at for a while are not lost", () => {
  const data = join(makeFolder(), "data");
  const file = join(data, "harness.db");
  mkdirSync(data);
  writeFileSync(file, "");
  const check = rememberFiles(file);
  renameSync(data, `${data}.moved`);
  symlinkSync("data", data);
  check();
  rmSync(data);
  expect(check).toThrow("was removed or replaced");
  renameSync(`${data}.moved`, data);
  check();
});
