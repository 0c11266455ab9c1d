import { expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import {
  action,
  appending,
  ending,
  makeExecution,
  newKey,
  type OpenStore,
  range,
  readSequences,
  rowOf,
  TIME_MS,
  text,
  useStore,
} from "./fixtures.js";

/** Each test ends its executions in a year of its own, so that its trim finds no other's. */
let year = 0;
function newEnd(): number {
  return TIME_MS + ++year * 31_536_000_000;
}

export function describeTrim(open: OpenStore): void {
  const store = useStore(open);

  test("R02 a trimmed execution keeps its row and side rows, and its log begins after what was dropped", async () => {
    const end = newEnd();
    const key = await makeExecution(store(), {}, { count: 5 });
    await store().append(appending(key, 5, 1, { side: { actions: [action("a")] } }));
    await store().append(ending(key, 6, end));
    const before = await store().getExecution(key);
    expect(await store().trim(end + 1)).toBe(1);
    expect(await store().getExecution(key)).toEqual({ ...before, firstSequence: 8 });
    expect(await store().read(key, 0, 1000)).toEqual({
      chunks: [],
      headSequence: 7,
      firstSequence: 8,
      state: ExecutionState.SUCCEEDED,
    });
    expect(text(await store().getAction(key, "a"))).toBe("action a");
  });

  test("only executions that ended before the time are trimmed, each once", async () => {
    const end = newEnd();
    const keys = await Promise.all(range(1, 3).map(() => makeExecution(store())));
    for (const [index, key] of keys.entries()) await store().append(ending(key, 1, end + index));
    expect(await store().trim(end)).toBe(0);
    expect(await store().trim(end + 2)).toBe(2);
    expect(await store().trim(end + 2)).toBe(0);
    expect(await readSequences(store(), keys[1]!)).toEqual([]);
    expect(await readSequences(store(), keys[2]!)).toEqual([1, 2]);
    expect(await store().trim(end + 3)).toBe(1);
  });

  test("an execution that is not over is never trimmed", async () => {
    const key = await makeExecution(store(), {}, { count: 3 });
    await store().append(appending(key, 3, 1, { row: rowOf(ExecutionState.CANCELLING) }));
    await store().trim(newEnd());
    expect(await readSequences(store(), key)).toEqual(range(1, 4));
  });

  test("trimming by labels takes those that carry all of them, in every tenant", async () => {
    const end = newEnd();
    const labels = [{ keep: "short", team: "a" }, { keep: "short", team: "b" }, { keep: "long", team: "a" }, {}];
    const keys = await Promise.all(labels.map((labels) => makeExecution(store(), { labels })));
    for (const key of keys) await store().append(ending(key, 1, end));
    expect(await store().trim(end + 1, { keep: "short", team: "a" })).toBe(1);
    expect(await readSequences(store(), keys[0]!)).toEqual([]);
    expect(await store().trim(end + 1, { keep: "short" })).toBe(1);
    expect(await store().trim(end + 1, { none: "such" })).toBe(0);
    expect(await readSequences(store(), keys[2]!)).toEqual([1, 2]);
    expect(await store().trim(end + 1, {})).toBe(2);
  });

  test("an execution that ends behind others that were passed over is trimmed all the same", async () => {
    const end = newEnd();
    const labels = { rule: String(end) };
    const [early, equal, late] = await Promise.all(range(1, 3).map(() => makeExecution(store(), { labels })));
    const other = await makeExecution(store());
    await store().append(ending(other, 1, end + 5));
    expect(await store().trim(end + 10, labels)).toBe(0);
    await store().append(ending(early!, 1, end));
    await store().append(ending(equal!, 1, end + 5));
    await store().append(ending(late!, 1, end + 6));
    expect(await store().trim(end + 6, labels)).toBe(2);
    expect(await store().trim(end + 10, labels)).toBe(1);
    expect(await readSequences(store(), other)).toEqual([1, 2]);
    expect(await store().trim(end + 10)).toBe(1);
  });

  test("events that come after a trim are dropped by the next", async () => {
    const end = newEnd();
    const labels = { rule: String(end) };
    const key = await makeExecution(store(), { labels });
    await store().append(ending(key, 1, end));
    expect(await store().trim(end + 1, labels)).toBe(1);
    await store().append(appending(key, 2));
    expect(await store().trim(end + 1, labels)).toBe(1);
    expect(await readSequences(store(), key)).toEqual([]);
  });

  test("a trim finds what was written before it, also where that was not awaited", async () => {
    const end = newEnd();
    const labels = { rule: String(end) };
    const keys = range(1, 3).map(() => newKey());
    const trims = keys.map((key, index) => {
      const writes = [makeExecution(store(), { labels }, { key }), store().append(ending(key, 1, end - index))];
      return [...writes, store().trim(end + 1, labels)].at(-1);
    });
    expect(await Promise.all(trims)).toEqual([1, 1, 1]);
  });

  test("what one rule passes over another finds, however much that is", async () => {
    const end = newEnd();
    const [all, last] = [{ all: String(end) }, { last: String(end) }];
    const tenant = newKey().tenantId;
    const make = async (labels: Record<string, string>): Promise<void> => {
      const key = await makeExecution(store(), { labels }, { key: newKey(tenant) });
      await store().append(ending(key, 1, end));
    };
    await Promise.all(range(1, 450).map(() => make(all)));
    await make({ ...all, ...last });
    expect(await store().trim(end + 1, last)).toBe(1);
    expect(await store().trim(end + 1, all)).toBe(450);
  });

  test("many executions are trimmed in one call", async () => {
    const end = newEnd();
    const tenant = newKey().tenantId;
    const keys = range(1, 300).map(() => newKey(tenant));
    await Promise.all(
      keys.flatMap((key) => [makeExecution(store(), {}, { key }), store().append(ending(key, 1, end))]),
    );
    expect(await store().trim(end + 1)).toBe(300);
    expect((await store().read(keys[299]!, 0, 1))?.firstSequence).toBe(3);
  });
}
