import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type Execution, ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { createExecutionPages, type ReadPage } from "../../src/console/live/execution-pages.js";
import { createExecutionRows } from "../../src/console/live/execution-rows.js";

const { RUNNING, SUCCEEDED } = ExecutionState;

function execution(number: number, state: ExecutionState, lastSequence = 1): Execution {
  return create(ExecutionSchema, {
    id: `exe_${number}`,
    state,
    lastSequence,
    createTime: { seconds: BigInt(number) },
  });
}

/** A server with executions numbered from 1, newest last, that lists those in some states. */
function openServer(count: number, state: ExecutionState, states: readonly ExecutionState[] = []) {
  const all = Array.from({ length: count }, (_, index) => execution(index + 1, state));
  const asked: string[] = [];
  const readPage: ReadPage = async ({ pageSize, pageToken }) => {
    asked.push(pageToken);
    const before = pageToken === "" ? Number.POSITIVE_INFINITY : Number(pageToken);
    const matches = all
      .filter(({ id, state: now }) => numberOf(id) < before && (states.length === 0 || states.includes(now)))
      .reverse();
    const executions = matches.slice(0, pageSize);
    const last = executions.at(-1);
    const nextPageToken = matches.length > pageSize && last !== undefined ? String(numberOf(last.id)) : "";
    return { executions, nextPageToken };
  };
  const rows = createExecutionRows(states);
  const pages = createExecutionPages(readPage, rows);
  return {
    asked,
    rows,
    pages,
    start: (more = 1) => {
      for (let one = 0; one < more; one++) all.push(execution(all.length + 1, state));
    },
    end: (number: number) => {
      all[number - 1] = execution(number, SUCCEEDED, 2);
    },
    shown: () => rows.shown.value.map(({ id }) => numberOf(id)),
  };
}

function numberOf(id: string): number {
  return Number(id.slice(4));
}

const downFrom = (first: number, last: number): readonly number[] =>
  Array.from({ length: first - last + 1 }, (_, index) => first - index);

test("an execution that no longer matches is gone when its page is read again, and no other", async () => {
  const server = openServer(150, RUNNING, [RUNNING]);
  await server.pages.readNewest();
  await server.pages.loadMore();
  expect(server.shown()).toEqual(downFrom(150, 1));
  server.end(149);
  await server.pages.readNewest();
  expect(server.shown()).toEqual([150, ...downFrom(148, 1)]);
});

test("the pages beyond the first are read again one after another, for what is shown of them alone", async () => {
  const server = openServer(350, RUNNING);
  await server.pages.readNewest();
  await server.pages.loadMore();
  server.rows.change([execution(40, RUNNING)], []);
  for (const number of [200, 40]) server.end(number);
  const stateOf = (number: number) => server.rows.shown.value.find(({ id }) => numberOf(id) === number)?.state;
  for (let round = 0; round < 4; round++) {
    await server.pages.readNewest();
    await server.pages.readOlder();
  }
  expect([stateOf(200), stateOf(40)]).toEqual([SUCCEEDED, SUCCEEDED]);
  expect(server.shown()).toEqual([...downFrom(350, 151), 40]);
});

test("after the last page nothing more is loaded, however often the first is read again", async () => {
  const server = openServer(150, SUCCEEDED);
  await server.pages.readNewest();
  await server.pages.loadMore();
  expect(server.pages.more.value).toBe(false);
  server.start();
  await server.pages.readNewest();
  expect(server.pages.more.value).toBe(false);
  const before = server.asked.length;
  await server.pages.loadMore();
  expect(server.asked).toHaveLength(before);
  expect(server.shown()).toEqual(downFrom(151, 1));
});

test("where more came between two reads than a page holds, the gap can be loaded", async () => {
  const server = openServer(20, SUCCEEDED);
  await server.pages.readNewest();
  expect(server.pages.more.value).toBe(false);
  server.start(180);
  await server.pages.readNewest();
  expect(server.pages.more.value).toBe(true);
  await server.pages.loadMore();
  expect(server.shown()).toEqual(downFrom(200, 1));
});

test("executions that are over are let go again as new ones come, and can be loaded anew", async () => {
  const server = openServer(100, SUCCEEDED);
  server.rows.change([execution(1, RUNNING, 9)], []);
  let most = 0;
  for (let round = 0; round < 60; round++) {
    server.start(50);
    await server.pages.readNewest();
    most = Math.max(most, server.rows.shown.value.length);
  }
  expect(most).toBeLessThanOrEqual(1_101);
  expect(server.shown()).toContain(1);
  for (let page = 0; server.pages.more.value && page < 40; page++) await server.pages.loadMore();
  expect(server.shown()).toEqual(downFrom(3_100, 1));
});

test("what a stream has changed since a page was asked for is newer than the page", async () => {
  const rows = createExecutionRows([]);
  const pages = createExecutionPages(async () => {
    rows.change([execution(7, RUNNING)], []);
    return { executions: [execution(6, RUNNING)], nextPageToken: "" };
  }, rows);
  rows.change([execution(5, RUNNING)], []);
  await pages.readNewest();
  expect(rows.shown.value.map(({ id }) => id)).toEqual(["exe_7", "exe_6"]);
});

test("an execution that has left the states of the list is not shown, whoever says so", () => {
  const rows = createExecutionRows([RUNNING]);
  rows.change([execution(1, RUNNING), execution(2, RUNNING)], []);
  rows.change([execution(1, SUCCEEDED, 2), execution(3, SUCCEEDED, 2)], []);
  expect(rows.shown.value.map(({ id }) => id)).toEqual(["exe_2"]);
});
