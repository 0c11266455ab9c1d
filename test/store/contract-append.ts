import { expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import {
  appending,
  bytesOf,
  creation,
  deltas,
  makeExecution,
  newKey,
  type OpenStore,
  range,
  readSequences,
  rowOf,
  sideOnly,
  TIME_MS,
  text,
  useStore,
} from "./fixtures.js";

const CONFLICT = { reason: ErrorReason.SEQUENCE_CONFLICT };

export function describeAppends(open: OpenStore): void {
  const store = useStore(open);

  test("a created execution is what was written, and its log begins at 1", async () => {
    const key = newKey();
    const row = { bytes: bytesOf("mutable"), fold: '{"a":1}', state: ExecutionState.QUEUED };
    await store().append(creation(key, { bytes: bytesOf("immutable") }, { row }));
    const stored = await store().getExecution(key);
    expect(stored).toMatchObject({ key, fold: '{"a":1}', state: ExecutionState.QUEUED });
    expect(stored).toMatchObject({ lastSequence: 1, firstSequence: 1, updateTimeMs: TIME_MS });
    expect([text(stored?.start), text(stored?.row)]).toEqual(["immutable", "mutable"]);
    expect(await readSequences(store(), key)).toEqual([1]);
  });

  test("a write without a row leaves the row and moves the last sequence and the update time", async () => {
    const key = await makeExecution(store());
    await store().append(appending(key, 1, 3));
    const stored = await store().getExecution(key);
    expect(stored).toMatchObject({ lastSequence: 4, updateTimeMs: TIME_MS + 4, state: ExecutionState.QUEUED });
    expect(text(stored?.row)).toBe("row in QUEUED");
  });

  test("of several rows written at once the last is kept", async () => {
    const key = await makeExecution(store());
    const states = [ExecutionState.STARTING, ExecutionState.RUNNING, ExecutionState.CANCELLING];
    await Promise.all(
      states.map((state, index) => store().append(appending(key, index + 1, 1, { row: rowOf(state) }))),
    );
    const stored = await store().getExecution(key);
    expect(stored).toMatchObject({ state: ExecutionState.CANCELLING, lastSequence: 4 });
    expect(text(stored?.row)).toBe("row in CANCELLING");
  });

  test("writes that are not awaited take effect in the order they were made", async () => {
    const key = newKey();
    const writes = [store().append(creation(key))];
    for (let last = 1; last < 300; last++) writes.push(store().append(appending(key, last)));
    await Promise.all(writes);
    expect(await readSequences(store(), key)).toEqual(range(1, 300));
  });

  test("a write that expects another log than there is fails with SEQUENCE_CONFLICT and writes nothing", async () => {
    const key = await makeExecution(store(), {}, { count: 5 });
    const row = rowOf(ExecutionState.RUNNING);
    for (const expected of [0, 4, 6]) {
      await expect(store().append(appending(key, expected, 1, { row }))).rejects.toMatchObject(CONFLICT);
    }
    expect(await store().getExecution(key)).toMatchObject({ lastSequence: 5, state: ExecutionState.QUEUED });
    expect(await readSequences(store(), key)).toEqual(range(1, 5));
  });

  test("a write to an execution that does not exist fails with SEQUENCE_CONFLICT", async () => {
    const key = newKey();
    await expect(store().append(appending(key, 0))).rejects.toMatchObject(CONFLICT);
    await expect(store().append(appending(key, 3))).rejects.toMatchObject(CONFLICT);
    expect(await store().getExecution(key)).toBeUndefined();
  });

  test("creating an execution that exists fails with SEQUENCE_CONFLICT and leaves it", async () => {
    const key = await makeExecution(store(), { bytes: bytesOf("first") }, { count: 3 });
    await expect(store().append(creation(key, { bytes: bytesOf("second") }))).rejects.toMatchObject(CONFLICT);
    const stored = await store().getExecution(key);
    expect([text(stored?.start), stored?.lastSequence]).toEqual(["first", 3]);
  });

  test("of concurrent writers exactly one wins", async () => {
    const key = await makeExecution(store());
    const results = await Promise.allSettled(range(1, 8).map(() => store().append(appending(key, 1))));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await readSequences(store(), key)).toEqual([1, 2]);
  });

  test("a refused write takes those along that expected it, and the log goes on from where it was", async () => {
    const key = await makeExecution(store());
    const results = await Promise.allSettled([
      store().append(appending(key, 1, 2)),
      store().append(appending(key, 9, 1)),
      store().append(appending(key, 10, 1)),
      store().append(appending(key, 3, 1)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(await readSequences(store(), key)).toEqual(range(1, 4));
  });

  test("a refused write harms no other execution", async () => {
    const keys = await Promise.all(range(1, 20).map(() => makeExecution(store())));
    const results = await Promise.allSettled(
      keys.map((key, index) => store().append(appending(key, index % 2 === 0 ? 1 : 7, 2))),
    );
    expect(results.map(({ status }) => status === "fulfilled")).toEqual(keys.map((_, index) => index % 2 === 0));
    const lasts = await Promise.all(keys.map(async (key) => (await store().getExecution(key))?.lastSequence));
    expect(lasts).toEqual(keys.map((_, index) => (index % 2 === 0 ? 3 : 1)));
  });

  test("a write of side rows alone keeps the log and must expect its end", async () => {
    const key = await makeExecution(store(), {}, { count: 2 });
    const side = { resumeState: bytesOf("resume") };
    await store().append(sideOnly(key, 2, { side, updateTimeMs: TIME_MS + 77 }));
    await expect(store().append(sideOnly(key, 1, { side }))).rejects.toMatchObject(CONFLICT);
    expect(await store().getExecution(key)).toMatchObject({ lastSequence: 2, updateTimeMs: TIME_MS + 77 });
    expect(text((await store().getSideRows(key)).resumeState)).toBe("resume");
  });

  test("a write that contradicts itself is a bug of its maker, and writes nothing", async () => {
    const key = await makeExecution(store());
    const other = newKey();
    const { create: _, ...uncreated } = creation(other);
    const bugs = [
      { ...appending(key, 1), lastSequence: 5 },
      { ...appending(key, 1), chunk: deltas(key, 2, 1) },
      { ...sideOnly(key, 1, {}), lastSequence: 2 },
      { ...creation(other), expected: 1 },
      { ...uncreated, create: creation(other).create!, row: undefined as never },
    ];
    for (const bug of bugs) await expect(store().append(bug)).rejects.toThrow(RangeError);
    expect(await store().getExecution(key)).toMatchObject({ lastSequence: 1 });
    expect(await store().getExecution(other)).toBeUndefined();
  });

  test("the same execution ID in two tenants is two executions, and no read crosses", async () => {
    const key = await makeExecution(store(), {}, { count: 2 });
    const twin = { ...key, tenantId: "another tenant" };
    expect(await store().getExecution(twin)).toBeUndefined();
    expect(await store().read(twin, 0, 1000)).toBeUndefined();
    await store().append(creation(twin));
    expect(await readSequences(store(), twin)).toEqual([1]);
    expect(await readSequences(store(), key)).toEqual([1, 2]);
  });
}
