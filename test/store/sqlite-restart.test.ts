import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { IdempotencyTakenError } from "../../src/core/store.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import {
  action,
  appending,
  artifact,
  bytesOf,
  conversation,
  creation,
  deltas,
  ending,
  makeExecution,
  newKey,
  range,
  readSequences,
  TIME_MS,
  text,
} from "./fixtures.js";
import { makeFolder, removeFolders } from "./folders.js";

afterAll(removeFolders);

test("everything that was stored is there when the store is opened again", async () => {
  const dataDir = makeFolder();
  const before = await openSqliteStore({ dataDir });
  const key = newKey();
  const idempotency = { scope: "s", digest: "d", resourceId: key.executionId };
  const side = {
    actions: [action("a")],
    answers: [{ actionId: "a", bytes: bytesOf("yes"), delivered: true, expired: false }],
    inputs: [{ inputId: "i", bytes: bytesOf("input") }],
    artifacts: [artifact("x")],
    resumeState: bytesOf("resume"),
  };
  await before.append(creation(key, { labels: { team: "a" } }, { idempotency, side }));
  await before.append(appending(key, 1, 50));
  const talk = conversation(key.tenantId);
  await before.createConversation(talk);
  const query = { tenantId: key.tenantId, labels: { team: "a" }, pageSize: 1, pageToken: "" };
  const stored = [await before.getExecution(key), await before.getSideRows(key), await before.listExecutions(query)];
  await before.close();

  const after = await openSqliteStore({ dataDir });
  expect([await after.getExecution(key), await after.getSideRows(key), await after.listExecutions(query)]).toEqual(
    stored,
  );
  expect(await readSequences(after, key)).toEqual(range(1, 51));
  expect(text(await after.getConversation(key.tenantId, talk.conversationId))).toBe(text(talk.bytes));
  await expect(after.append(creation(newKey(key.tenantId), {}, { idempotency }))).rejects.toThrow(
    IdempotencyTakenError,
  );
  await after.append(appending(key, 51));
  await after.close();
});

test("opening voids every lease, and fencing numbers go on from the last", async () => {
  const dataDir = makeFolder();
  const before = await openSqliteStore({ dataDir });
  const key = await makeExecution(before);
  await before.claim(key, "node-a", 0, 1e15);
  expect(await before.claim(key, "node-a", 0, 1e15)).toBe(2);
  await before.close();

  const after = await openSqliteStore({ dataDir });
  expect(await after.renew(key, 2, 1e15)).toBe(false);
  await expect(after.append(appending(key, 1, 1, { fence: 2 }))).rejects.toMatchObject({ reason: ErrorReason.FENCED });
  expect(await after.claim(key, "node-b", 0, 100)).toBe(3);
  await after.close();
});

test("a page token outlives the store that gave it", async () => {
  const dataDir = makeFolder();
  const before = await openSqliteStore({ dataDir });
  const tenantId = newKey().tenantId;
  for (const number of range(1, 3)) {
    await makeExecution(before, { createTimeMs: TIME_MS + number }, { key: newKey(tenantId) });
  }
  const first = await before.listExecutions({ tenantId, pageSize: 2, pageToken: "" });
  await before.close();
  const after = await openSqliteStore({ dataDir });
  const second = await after.listExecutions({ tenantId, pageSize: 2, pageToken: first.nextPageToken });
  expect([first.items.length, second.items.length, second.nextPageToken]).toEqual([2, 1, ""]);
  await after.close();
});

test("S02 a full file refuses writes with STORE_UNAVAILABLE, keeps none of them, and goes on when there is space", async () => {
  const path = join(makeFolder(), "harness.db");
  const store = await openSqliteStore({ path, maxBytes: 2 * 1024 * 1024 });
  const old = await makeExecution(store);
  await store.append(appending(old, 1, 1, { chunk: deltas(old, 1, 1, 600_000) }));
  await store.append(ending(old, 2));
  const key = await makeExecution(store);
  let last = 1;
  let failure: unknown;
  while (failure === undefined && last < 100) {
    const chunk = deltas(key, last, 1, 100_000);
    failure = await store.append(appending(key, last, 1, { chunk })).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) last++;
  }
  expect(failure).toMatchObject({
    reason: ErrorReason.STORE_UNAVAILABLE,
    metadata: { file: path, code: "SQLITE_FULL" },
    retryMs: 1000,
  });
  expect(await store.getExecution(key)).toMatchObject({ lastSequence: last });
  expect(await readSequences(store, key)).toEqual(range(1, last));

  expect(await store.trim(TIME_MS + 1e6)).toBe(1);
  await expect
    .poll(
      () =>
        store.append(appending(key, last, 1, { chunk: deltas(key, last, 1, 100_000) })).then(() => "written", String),
      {
        interval: 20,
        timeout: 10_000,
      },
    )
    .toBe("written");
  expect(await readSequences(store, key)).toEqual(range(1, last + 1));
  await store.close();
});

test("S02 a write that SQLite cannot take fails alone in its commit", async () => {
  const store = await openSqliteStore({ dataDir: makeFolder() });
  const keys = range(1, 5).map(() => newKey());
  const writes = keys.map((key, index) => creation(key, index === 2 ? { createTimeMs: 0.5 } : {}));
  const results = await Promise.allSettled(writes.map((write) => store.append(write)));
  expect(results.map(({ status }) => status === "fulfilled")).toEqual([true, true, false, true, true]);
  expect((results[2] as PromiseRejectedResult).reason).toMatchObject({ reason: ErrorReason.STORE_UNAVAILABLE });
  expect(await store.getExecution(keys[2]!)).toBeUndefined();
  await store.append(creation(keys[2]!));
  expect(await readSequences(store, keys[4]!)).toEqual([1]);
  await store.close();
});
