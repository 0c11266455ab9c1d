import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ActionQuery, ConversationQuery, ExecutionQuery } from "../../src/core/store.js";
import { ConversationReader } from "../../src/store/sqlite/conversation-reader.js";
import { ExecutionLists } from "../../src/store/sqlite/execution-lists.js";
import { type OpenFile, openFile } from "../../src/store/sqlite/open-file.js";
import { SideReader } from "../../src/store/sqlite/side-reader.js";
import { makeFolder, removeFolders } from "./folders.js";

let file: OpenFile;
beforeAll(() => {
  file = openFile({ file: join(makeFolder(), "harness.db"), synchronous: "normal", maxBytes: undefined }, 0);
});
afterAll(() => {
  file.close();
  removeFolders();
});

const PAGE = { tenantId: "t", pageSize: 50, pageToken: "" };
const POSITION = { order: 1, id: "x" };

/** How SQLite would run each statement that is prepared for one list, by a reader that `make` makes. */
function plansOf<T>(make: (db: Database) => T, list: (reader: T) => void): string[] {
  const prepared: string[] = [];
  const prepare = (sql: string) => {
    prepared.push(sql);
    return file.db.prepare(sql);
  };
  const reader = make(
    new Proxy(file.db, { get: (db, name) => (name === "prepare" ? prepare : Reflect.get(db, name)) }),
  );
  prepared.length = 0;
  list(reader);
  return prepared.flatMap((sql) => {
    const marks = [...sql].filter((letter) => letter === "?").map(() => 1);
    const steps = file.db.prepare<unknown[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...marks);
    return steps.map(({ detail }) => detail);
  });
}

/** Neither a whole table is read, nor what was found sorted. */
function expectIndexed(plans: readonly string[]): void {
  expect(plans.length).toBeGreaterThan(0);
  for (const step of plans) {
    expect(step).not.toMatch(/^SCAN /);
    expect(step).not.toContain("TEMP B-TREE");
  }
}

const EXECUTIONS: readonly [string, Partial<ExecutionQuery>][] = [
  ["no filter", {}],
  ["a conversation", { conversationId: "c" }],
  ["a conversation and states", { conversationId: "c", states: [1, 2] }],
  ["a root", { rootExecutionId: "r" }],
  ["a parent", { parentExecutionId: "p" }],
  ["a parent, a root and a label", { parentExecutionId: "p", rootExecutionId: "r", labels: { a: "b" } }],
  ["one state", { states: [3] }],
  ["all states that are not terminal", { states: [1, 2, 3, 4, 5, 6] }],
  ["a label", { labels: { team: "a" } }],
  ["labels, a provider and a state", { labels: { team: "a", env: "b" }, providerId: "p", states: [1] }],
  ["a provider", { providerId: "p" }],
];

describe.each(EXECUTIONS)("executions by %s", (_, filter) => {
  test.each([undefined, POSITION])("are found by an index, in order (after %o)", (position) => {
    expectIndexed(
      plansOf(
        (db) => new ExecutionLists(db),
        (reader) => reader.list({ ...PAGE, ...filter }, position),
      ),
    );
  });
});

const ACTIONS: readonly [string, Partial<ActionQuery>][] = [
  ["no filter", {}],
  ["a state", { states: [1] }],
  ["states and kinds", { states: [1, 2], kinds: [1, 2] }],
  ["a provider", { providerId: "p" }],
];

test.each(ACTIONS)("actions by %s are found by an index, in order", (_, filter) => {
  expectIndexed(
    plansOf(
      (db) => new SideReader(db),
      (reader) => reader.listActions({ ...PAGE, ...filter }, POSITION),
    ),
  );
});

const CONVERSATIONS: readonly [string, Partial<ConversationQuery>][] = [
  ["no filter", {}],
  ["labels", { labels: { a: "b", c: "d" } }],
];

test.each(CONVERSATIONS)("conversations by %s are found by an index, in order", (_, filter) => {
  expectIndexed(
    plansOf(
      (db) => new ConversationReader(db),
      (reader) => reader.list({ ...PAGE, ...filter }, POSITION),
    ),
  );
});
