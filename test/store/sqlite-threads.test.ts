import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { ReaderReply, ReaderRequest, WriterReply, WriterRequest } from "../../src/store/sqlite/messages.js";
import { ReadQueue } from "../../src/store/sqlite/read-queue.js";
import { SqliteStore } from "../../src/store/sqlite/store.js";
import { ThreadLink } from "../../src/store/sqlite/thread-link.js";
import { startThread } from "../../src/store/sqlite/threads.js";
import { WriteQueue } from "../../src/store/sqlite/write-queue.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { appending, creation, makeExecution, newKey, readSequences } from "./fixtures.js";
import { makeFolder, removeFolders } from "./folders.js";

afterAll(removeFolders);

const UNAVAILABLE = { reason: ErrorReason.STORE_UNAVAILABLE, metadata: { file: "harness.db" } };

/** A thread that says it has opened the file, and ends at the first message. */
function startFragile(): Worker {
  const source = `const { parentPort } = require("node:worker_threads");
    parentPort.on("message", () => { throw new Error("broken"); });
    parentPort.postMessage({ kind: "opened" });`;
  return new Worker(source, { eval: true });
}

test("a writer that ends unexpectedly fails what is under way and all that follows", async () => {
  const link = new ThreadLink<WriterRequest, WriterReply>(startFragile(), "harness.db");
  await link.opened();
  const queue = new WriteQueue(link, "harness.db", 0, () => {});
  const release = { kind: "release", key: newKey(), fence: 1 } as const;
  const results = await Promise.allSettled([queue.submit(release), queue.submit(release)]);
  for (const result of results) expect(result).toMatchObject({ status: "rejected", reason: UNAVAILABLE });
  await expect(queue.submit(release)).rejects.toMatchObject(UNAVAILABLE);
  await queue.idle();
  await link.close({ kind: "close" });
});

describe.each(["writer", "reader"] as const)("a store whose %s ends", (name) => {
  test("is lost, says why, and can be closed and opened again", async () => {
    const file = join(makeFolder(), "harness.db");
    const settings = { file, synchronous: "normal", maxBytes: undefined } as const;
    const threads = { writer: startThread("writer", settings), reader: startThread("reader", settings) };
    const writer = new ThreadLink<WriterRequest, WriterReply>(threads.writer, file);
    const reader = new ThreadLink<ReaderRequest, ReaderReply>(threads.reader, file);
    await writer.opened();
    await reader.opened({ kind: "open" });
    const store = new SqliteStore({ writer, reader, file, commitWindowMs: 0 });
    const key = await makeExecution(store);
    await threads[name].terminate();
    expect(await store.lost).toMatchObject({ reason: ErrorReason.STORE_UNAVAILABLE, metadata: { file } });
    const call = name === "writer" ? store.append(appending(key, 1)) : store.getExecution(key);
    await expect(call).rejects.toBe(await store.lost);
    await store.close();
    const again = await openSqliteStore({ path: file });
    expect(await readSequences(again, key)).toEqual([1]);
    await again.close();
  });
});

test("a thread that runs out of memory says so", async () => {
  const source = `const kept = []; for (;;) kept.push(new Array(1000).fill({}));`;
  const worker = new Worker(source, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8 } });
  const link = new ThreadLink<WriterRequest, WriterReply>(worker, "harness.db");
  worker.ref();
  expect((await link.lost).message).toContain(
    "harness.db has ended unexpectedly (Worker terminated due to reaching memory",
  );
});

test("a write that cannot be sent to the thread is refused, and the store closes all the same", async () => {
  const store = await openSqliteStore({ dataDir: makeFolder() });
  const unsendable = store.append(creation(newKey(), { labels: { a: (() => {}) as unknown as string } }));
  await Promise.all([expect(unsendable).rejects.toThrow("could not be cloned"), store.close()]);
});

test("a reader that ends unexpectedly fails what is under way and all that follows", async () => {
  const link = new ThreadLink<ReaderRequest, ReaderReply>(startFragile(), "harness.db");
  await link.opened();
  const queue = new ReadQueue(link, "harness.db", () => {});
  await expect(queue.ask({ method: "listUnfinished" })).rejects.toMatchObject(UNAVAILABLE);
  await expect(queue.ask({ method: "listUnfinished" })).rejects.toMatchObject(UNAVAILABLE);
  queue.checkpoint();
  await queue.idle();
  await link.close({ kind: "close" });
});

test("a thread that ends before it has opened the file fails the opening", async () => {
  const worker = new Worker("process.exit(3)", { eval: true });
  const link = new ThreadLink<WriterRequest, WriterReply>(worker, "harness.db");
  await expect(link.opened()).rejects.toMatchObject(UNAVAILABLE);
});

test("a thread that ended before anybody waited for it fails the opening", async () => {
  const worker = new Worker("", { eval: true });
  const link = new ThreadLink<WriterRequest, WriterReply>(worker, "harness.db");
  worker.ref();
  await once(worker, "exit");
  await expect(link.opened()).rejects.toMatchObject(UNAVAILABLE);
});

/** A thread that answers each query with how many came in its message, and refuses to list. */
function startCounting(): Worker {
  const source = `const { parentPort } = require("node:worker_threads");
    parentPort.on("message", ({ kind, queries }) => {
      if (kind === "close") return parentPort.postMessage({ kind: "closed" });
      const failure = { code: "SQLITE_IOERR", message: "broken" };
      const answers = queries.map(([id, { method }]) => [id, method === "listUnfinished" ? { failure } : { value: queries.length }]);
      parentPort.postMessage({ kind: "answers", answers });
    });`;
  return new Worker(source, { eval: true });
}

test("the reads of one turn of the event loop share a message, and one that fails harms no other", async () => {
  const link = new ThreadLink<ReaderRequest, ReaderReply>(startCounting(), "harness.db");
  const queue = new ReadQueue(link, "harness.db", () => {});
  const get = { method: "getExecution", key: newKey() } as const;
  const together = await Promise.allSettled([queue.ask(get), queue.ask({ method: "listUnfinished" }), queue.ask(get)]);
  expect(together).toMatchObject([{ value: 3 }, { status: "rejected", reason: UNAVAILABLE }, { value: 3 }]);
  expect(await queue.ask(get)).toBe(1);
  await queue.idle();
  await link.close({ kind: "close" });
});
