import { expect, test } from "vitest";
import { ActionKind, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { ExecutionQuery, Page, PageQuery, StartRecord } from "../../src/core/store.js";
import {
  action,
  appending,
  conversation,
  creation,
  ending,
  makeExecution,
  newKey,
  type OpenStore,
  range,
  rowOf,
  sideOnly,
  TIME_MS,
  text,
  unique,
  useStore,
} from "./fixtures.js";

export function describeLists(open: OpenStore): void {
  const store = useStore(open);

  test("executions are listed newest first, by create time and then ID, page by page", async () => {
    const tenantId = unique("tenant");
    const keys = range(1, 23).map(() => newKey(tenantId));
    const times = keys.map((_, index) => TIME_MS + ((index * 5) % 7));
    await Promise.all(keys.map((key, index) => makeExecution(store(), { createTimeMs: times[index]! }, { key })));
    const sorted = keys
      .map(({ executionId }, index) => ({ executionId, time: times[index]! }))
      .sort((a, b) => b.time - a.time || (a.executionId < b.executionId ? 1 : -1))
      .map(({ executionId }) => executionId);
    for (const pageSize of [1, 5, 22, 23, 1000]) {
      const pages = await allPages((page) => store().listExecutions({ tenantId, ...page }), pageSize);
      expect(pages.flat().map(({ key }) => key.executionId)).toEqual(sorted);
      expect(pages).toHaveLength(Math.ceil(23 / pageSize));
    }
  });

  test("pages are stable while newer executions come and listed ones change", async () => {
    const tenantId = unique("tenant");
    const keys = range(1, 6).map(() => newKey(tenantId));
    for (const [index, key] of keys.entries()) await makeExecution(store(), { createTimeMs: TIME_MS + index }, { key });
    const first = await store().listExecutions({ tenantId, pageSize: 3, pageToken: "" });
    await makeExecution(store(), { createTimeMs: TIME_MS + 99 }, { key: newKey(tenantId) });
    await store().append(ending(keys[3]!, 1));
    const second = await store().listExecutions({ tenantId, pageSize: 3, pageToken: first.nextPageToken });
    const listed = [...first.items, ...second.items].map(({ key }) => key);
    expect(listed).toEqual(keys.toReversed());
    expect(second.nextPageToken).toBe("");
  });

  test("a listed execution is what getExecution gives", async () => {
    const key = await makeExecution(store(), {}, { count: 4 });
    await store().append(ending(key, 4));
    const { items } = await store().listExecutions({ tenantId: key.tenantId, pageSize: 10, pageToken: "" });
    expect(items).toEqual([await store().getExecution(key)]);
  });

  test("each filter finds what it names, an empty one everything, and together they find what all do", async () => {
    const tenantId = unique("tenant");
    const starts: readonly Partial<StartRecord>[] = [
      { conversationId: "c1", providerId: "p1", rootExecutionId: "r1", labels: { env: "test", team: "a" } },
      {
        conversationId: "c1",
        providerId: "p2",
        parentExecutionId: "r1",
        rootExecutionId: "r1",
        labels: { env: "test" },
      },
      { conversationId: "c2", providerId: "p1", rootExecutionId: "r2", labels: { env: "live", team: "a" } },
      { conversationId: "c2", providerId: "p2", parentExecutionId: "x", rootExecutionId: "r2", labels: {} },
    ];
    const keys = starts.map(() => newKey(tenantId));
    for (const [index, start] of starts.entries()) {
      await makeExecution(store(), { createTimeMs: TIME_MS - index, ...start }, { key: keys[index]! });
    }
    await store().append(appending(keys[1]!, 1, 1, { row: rowOf(ExecutionState.RUNNING) }));
    await store().append(ending(keys[2]!, 1));
    const { QUEUED, RUNNING, SUCCEEDED, FAILED } = ExecutionState;
    const cases: readonly [Omit<ExecutionQuery, "tenantId" | keyof PageQuery>, readonly number[]][] = [
      [{}, [0, 1, 2, 3]],
      [
        { conversationId: "", providerId: "", parentExecutionId: "", rootExecutionId: "", states: [], labels: {} },
        [0, 1, 2, 3],
      ],
      [{ conversationId: "c1" }, [0, 1]],
      [{ providerId: "p2" }, [1, 3]],
      [{ parentExecutionId: "r1" }, [1]],
      [{ rootExecutionId: "r2" }, [2, 3]],
      [{ states: [QUEUED] }, [0, 3]],
      [{ states: [QUEUED, SUCCEEDED] }, [0, 2, 3]],
      [{ states: [RUNNING, RUNNING, FAILED] }, [1]],
      [{ states: [FAILED] }, []],
      [{ labels: { env: "test" } }, [0, 1]],
      [{ labels: { env: "test", team: "a" } }, [0]],
      [{ labels: { env: "tes" } }, []],
      [{ labels: { team: "a" }, states: [SUCCEEDED] }, [2]],
      [{ conversationId: "c1", providerId: "p1" }, [0]],
      [{ rootExecutionId: "r1", parentExecutionId: "r1", states: [RUNNING], labels: { env: "test" } }, [1]],
      [{ conversationId: "c1", rootExecutionId: "r2" }, []],
    ];
    for (const [filter, expected] of cases) {
      for (const pageSize of [1, 2, 50]) {
        const pages = await allPages((page) => store().listExecutions({ tenantId, ...filter, ...page }), pageSize);
        expect(
          pages.flat().map(({ key }) => keys.findIndex(({ executionId }) => executionId === key.executionId)),
        ).toEqual(expected);
      }
    }
  });

  test("another tenant's executions, actions and conversations are not listed", async () => {
    const key = await makeExecution(store());
    await store().append(appending(key, 1, 1, { side: { actions: [action("a")] } }));
    await store().createConversation(conversation(key.tenantId));
    const query = { tenantId: unique("tenant"), pageSize: 10, pageToken: "" };
    const empty = { items: [], nextPageToken: "" };
    expect(await store().listExecutions(query)).toEqual(empty);
    expect(await store().listActions(query)).toEqual(empty);
    expect(await store().listConversations(query)).toEqual(empty);
  });

  test("a page of large executions holds fewer than asked for, and goes on", async () => {
    const tenantId = unique("tenant");
    const bytes = new Uint8Array(1024 * 1024);
    for (let index = 0; index < 5; index++) {
      await makeExecution(store(), { bytes, createTimeMs: TIME_MS + index }, { key: newKey(tenantId) });
    }
    const pages = await allPages((page) => store().listExecutions({ tenantId, ...page }), 1000);
    expect(pages.flat()).toHaveLength(5);
    expect(Math.max(...pages.map((page) => page.length))).toBeLessThan(4);
    expect(Math.min(...pages.map((page) => page.length))).toBeGreaterThan(0);
  });

  test("a page token that is not the list's own is a VALIDATION_ERROR on page_token", async () => {
    const tenantId = unique("tenant");
    const key = newKey(tenantId);
    await store().append(creation(key, {}, { side: { actions: [action("a"), action("b")] } }));
    await makeExecution(store(), {}, { key: newKey(tenantId) });
    const page = await store().listExecutions({ tenantId, pageSize: 1, pageToken: "" });
    const actions = await store().listActions({ tenantId, pageSize: 1, pageToken: "" });
    expect([page.nextPageToken, actions.nextPageToken]).not.toContain("");
    const tampered = `${page.nextPageToken.startsWith("A") ? "B" : "A"}${page.nextPageToken.slice(1)}`;
    for (const pageToken of ["x", "🙂", " ", "AAAA", `${page.nextPageToken}=`, tampered, actions.nextPageToken]) {
      await expect(store().listExecutions({ tenantId, pageSize: 1, pageToken })).rejects.toMatchObject({
        reason: ErrorReason.VALIDATION_ERROR,
        violations: [{ field: "page_token" }],
      });
    }
    const lists: ((pageToken: string) => Promise<unknown>)[] = [
      (pageToken) => store().listActions({ tenantId, pageSize: 1, pageToken }),
      (pageToken) => store().listConversations({ tenantId, pageSize: 1, pageToken }),
      (pageToken) => store().listArtifacts(key, { pageSize: 1, pageToken }),
    ];
    for (const list of lists) {
      await expect(list(page.nextPageToken)).rejects.toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    }
  });

  test("unfinished executions of every tenant are listed, oldest first", async () => {
    const keys = range(1, 6).map(() => newKey());
    const times = [5, 3, 9, 1, 7, 2];
    for (const [index, key] of keys.entries()) {
      await makeExecution(store(), { createTimeMs: TIME_MS - 1_000_000 + times[index]! }, { key });
    }
    await store().append(ending(keys[1]!, 1));
    await store().append(appending(keys[2]!, 1, 1, { row: rowOf(ExecutionState.FAILED, { endTimeMs: TIME_MS }) }));
    await store().append(appending(keys[3]!, 1, 1, { row: rowOf(ExecutionState.CANCELLED, { endTimeMs: TIME_MS }) }));
    await store().append(appending(keys[4]!, 1, 1, { row: rowOf(ExecutionState.AWAITING_APPROVAL) }));
    const unfinished = await store().listUnfinished();
    const mine = unfinished.filter(({ key }) => keys.some(({ executionId }) => executionId === key.executionId));
    expect(mine.map(({ key }) => key)).toEqual([keys[5], keys[0], keys[4]]);
    expect(mine[2]).toEqual(await store().getExecution(keys[4]!));
    expect(await store().claim(keys[0]!, "node-a", 0, 100)).toBe(1);
  });

  test("A08 actions are listed across executions, newest first, by every filter", async () => {
    const tenantId = unique("tenant");
    const [first, second] = [newKey(tenantId), newKey(tenantId)];
    const { APPROVAL, INPUT } = ActionKind;
    const { PENDING, RESPONDED, EXPIRED } = ActionState;
    await makeExecution(store(), {}, { key: first });
    await makeExecution(store(), {}, { key: second });
    const actions = [
      action("a1", { createTimeMs: TIME_MS + 1, kind: APPROVAL, providerId: "p1" }),
      action("a3", { createTimeMs: TIME_MS + 3, kind: INPUT, providerId: "p1" }),
    ];
    const others = [
      action("a2", { createTimeMs: TIME_MS + 2, kind: INPUT, providerId: "p2" }),
      action("a4", { createTimeMs: TIME_MS + 4, kind: APPROVAL, providerId: "p2", state: EXPIRED }),
    ];
    await store().append(sideOnly(first, 1, { side: { actions } }));
    await store().append(sideOnly(second, 1, { side: { actions: others } }));
    await store().append(sideOnly(first, 1, { side: { actions: [{ ...actions[0]!, state: RESPONDED }] } }));
    const list = async (filter: object) => {
      const pages = await allPages((page) => store().listActions({ tenantId, ...filter, ...page }), 1);
      return pages.flat().map((bytes) => text(bytes)?.slice(-2));
    };
    expect(await list({})).toEqual(["a4", "a3", "a2", "a1"]);
    expect(await list({ states: [], kinds: [], executionId: "", providerId: "" })).toEqual(["a4", "a3", "a2", "a1"]);
    expect(await list({ states: [PENDING] })).toEqual(["a3", "a2"]);
    expect(await list({ states: [PENDING, EXPIRED] })).toEqual(["a4", "a3", "a2"]);
    expect(await list({ states: [RESPONDED] })).toEqual(["a1"]);
    expect(await list({ kinds: [INPUT] })).toEqual(["a3", "a2"]);
    expect(await list({ executionId: first.executionId })).toEqual(["a3", "a1"]);
    expect(await list({ providerId: "p2", kinds: [APPROVAL] })).toEqual(["a4"]);
    expect(await list({ executionId: second.executionId, states: [PENDING], kinds: [INPUT] })).toEqual(["a2"]);
    expect(await list({ executionId: "none" })).toEqual([]);
  });

  test("conversations are listed newest first, by labels, page by page", async () => {
    const tenantId = unique("tenant");
    const rows = range(1, 9).map((number) =>
      conversation(tenantId, {
        createTimeMs: TIME_MS + Math.floor(number / 2),
        labels: number % 3 === 0 ? { team: "a", env: "test" } : { team: "a" },
      }),
    );
    await Promise.all(rows.map((row) => store().createConversation(row)));
    const list = async (labels: Readonly<Record<string, string>>, pageSize: number) => {
      const pages = await allPages((page) => store().listConversations({ tenantId, labels, ...page }), pageSize);
      return pages.flat().map(text);
    };
    const newest = rows.toReversed().map(({ bytes }) => text(bytes));
    for (const pageSize of [1, 4, 9]) {
      expect(await list({}, pageSize)).toEqual(newest);
      expect(await list({ team: "a" }, pageSize)).toEqual(newest);
      expect(await list({ team: "a", env: "test" }, pageSize)).toEqual([newest[0], newest[3], newest[6]]);
      expect(await list({ team: "b" }, pageSize)).toEqual([]);
    }
  });
}

/** Follows a list's page tokens to its end. */
async function allPages<T>(list: (page: PageQuery) => Promise<Page<T>>, pageSize: number): Promise<T[][]> {
  const pages: T[][] = [];
  let pageToken = "";
  do {
    const page = await list({ pageSize, pageToken });
    expect(page.items.length).toBeLessThanOrEqual(pageSize);
    pages.push([...page.items]);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return pages;
}
