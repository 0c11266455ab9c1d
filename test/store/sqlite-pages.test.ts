import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { RawPage } from "../../src/store/page.js";
import { ConversationReader } from "../../src/store/sqlite/conversation-reader.js";
import { ExecutionLists } from "../../src/store/sqlite/execution-lists.js";
import { openBeside } from "../../src/store/sqlite/open-file.js";
import { SideReader } from "../../src/store/sqlite/side-reader.js";
import { openSqliteStore } from "../../src/store/sqlite.js";
import { action, conversation, creation, newKey, range, TIME_MS } from "./fixtures.js";
import { makeFolder, removeFolders } from "./folders.js";

const MIB = 1024 * 1024;
const LARGE = { bytes: new Uint8Array(MIB) };
const LABELS = { labels: { a: "b" } };
const KEYS = range(1, 8).map(() => newKey("t"));
/** An execution with many artifacts and actions, of another tenant. */
const BUSY = newKey("u");
const PAGE = { tenantId: "t", pageSize: 1000, pageToken: "" };
const STATES = { states: [ActionState.PENDING, ActionState.RESPONDED] };

let database: Database;
/** How many bytes of rows were read from the file. */
let readBytes = 0;

/** A connection that counts what its statements give. */
function counting(db: Database): Database {
  const count = <T>(row: T): T => {
    for (const value of row instanceof Uint8Array ? [row] : Object.values(row ?? {})) {
      if (value instanceof Uint8Array) readBytes += value.length;
    }
    return row;
  };
  const methods = {
    get:
      (get: (...values: unknown[]) => unknown) =>
      (...values: unknown[]) =>
        count(get(...values)),
    all:
      (all: (...values: unknown[]) => unknown[]) =>
      (...values: unknown[]) =>
        all(...values).map(count),
    iterate: (iterate: (...values: unknown[]) => Iterable<unknown>) =>
      function* (...values: unknown[]) {
        for (const row of iterate(...values)) yield count(row);
      },
  };
  const watched = (statement: object): object =>
    new Proxy(statement, {
      get(target, name) {
        const method = Reflect.get(target, name).bind(target);
        if (name === "pluck") return () => watched(method());
        return Object.hasOwn(methods, name) ? methods[name as keyof typeof methods](method) : method;
      },
    });
  return new Proxy(db, {
    get: (target, name) =>
      name === "prepare" ? (sql: string) => watched(target.prepare(sql)) : Reflect.get(target, name),
  });
}

beforeAll(async () => {
  const path = join(makeFolder(), "harness.db");
  const store = await openSqliteStore({ path });
  for (const [index, key] of KEYS.entries()) {
    const state = index % 2 === 0 ? ActionState.PENDING : ActionState.RESPONDED;
    const large = action("a", { ...LARGE, state, createTimeMs: TIME_MS + index });
    await store.append(creation(key, { ...LARGE, ...LABELS }, { side: { actions: [large] } }));
    await store.createConversation(conversation("t", { ...LARGE, ...LABELS }));
  }
  const artifacts = range(1, 8).map((id) => ({ artifactId: String(id), ...LARGE }));
  const actions = range(1, 8).map((id) => action(String(id), LARGE));
  await store.append(creation(BUSY, {}, { side: { artifacts, actions } }));
  await store.close();
  database = openBeside({ file: path, synchronous: "normal", maxBytes: undefined });
});
afterAll(() => {
  database.close();
  removeFolders();
});

const LISTS: readonly [string, (db: Database) => RawPage<unknown>][] = [
  ["executions", (db) => new ExecutionLists(db).list(PAGE, undefined)],
  ["executions of a label", (db) => new ExecutionLists(db).list({ ...PAGE, ...LABELS }, undefined)],
  ["actions", (db) => new SideReader(db).listActions(PAGE, undefined)],
  ["actions in several states", (db) => new SideReader(db).listActions({ ...PAGE, ...STATES }, undefined)],
  ["actions of an execution", (db) => new SideReader(db).listActions({ ...PAGE, ...BUSY }, undefined)],
  ["artifacts", (db) => new SideReader(db).listArtifacts(BUSY, PAGE, undefined)],
  ["conversations", (db) => new ConversationReader(db).list(PAGE, undefined)],
  ["conversations of a label", (db) => new ConversationReader(db).list({ ...PAGE, ...LABELS }, undefined)],
];

test.each(LISTS)("a page of large %s reads one row more than it holds", (_, list) => {
  readBytes = 0;
  const { items, next } = list(counting(database));
  expect(items.length).toBeGreaterThan(0);
  expect(next).toBeDefined();
  expect(readBytes).toBeGreaterThanOrEqual(items.length * MIB);
  expect(readBytes).toBeLessThan((items.length + 1.1) * MIB);
  // What was left unread no longer occupies the connection.
  database.exec("BEGIN; COMMIT");
});
