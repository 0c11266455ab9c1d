import { expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { decodeChunk, sliceChunk } from "../../src/core/chunk.js";
import {
  appending,
  creation,
  deltas,
  ending,
  makeExecution,
  newKey,
  type OpenStore,
  range,
  readSequences,
  sideOnly,
  useStore,
} from "./fixtures.js";

export function describeReads(open: OpenStore): void {
  const store = useStore(open);

  test("an unknown execution reads as undefined", async () => {
    expect(await store().read(newKey(), 0, 1000)).toBeUndefined();
    expect(await store().getExecution(newKey())).toBeUndefined();
  });

  test("a read at every cursor gives exactly what comes after it", async () => {
    const key = newKey();
    await store().append(creation(key));
    for (const [expected, count] of [
      [1, 1],
      [2, 7],
      [9, 3],
      [12, 1],
      [13, 8],
    ] as const) {
      await store().append(appending(key, expected, count));
    }
    for (let after = 0; after <= 21; after++) {
      expect(await readSequences(store(), key, after)).toEqual(range(after + 1, 21));
      expect(await readSequences(store(), key, after, 1)).toEqual(range(after + 1, 21));
    }
  });

  test("chunks follow one another without a gap, and only the first may begin at or before the cursor", async () => {
    const key = await makeExecution(store());
    for (let last = 1; last < 61; last += 3) await store().append(appending(key, last, 3));
    for (const after of [0, 1, 2, 30, 59, 60]) {
      const chunks = (await store().read(key, after, 1 << 20))?.chunks ?? [];
      expect(chunks[0]?.firstSequence).toBeLessThanOrEqual(after + 1);
      expect(chunks[0]?.lastSequence).toBeGreaterThan(after);
      for (const [index, chunk] of chunks.slice(1).entries()) {
        expect(chunk.firstSequence).toBe(chunks[index]!.lastSequence + 1);
      }
    }
  });

  test("a read tells the head and the state at its time", async () => {
    const key = await makeExecution(store(), {}, { count: 3 });
    const facts = { headSequence: 3, firstSequence: 1, state: ExecutionState.QUEUED };
    expect(await store().read(key, 0, 1)).toMatchObject(facts);
    expect(await store().read(key, 3, 1)).toMatchObject({ ...facts, chunks: [] });
    expect(await store().read(key, 1000, 1)).toMatchObject({ ...facts, chunks: [] });
    await store().append(ending(key, 3));
    expect(await store().read(key, 3, 1)).toMatchObject({ headSequence: 4, state: ExecutionState.SUCCEEDED });
  });

  test("a read stops at about its limit and gives at least one chunk", async () => {
    const key = await makeExecution(store());
    for (let last = 1; last < 200; last++) {
      await store().append(appending(key, last, 1, { chunk: deltas(key, last, 1, 10_000) }));
    }
    const limited = (await store().read(key, 0, 300_000))?.chunks ?? [];
    const sizeBytes = limited.reduce((sum, { bytes }) => sum + bytes.length, 0);
    expect(sizeBytes).toBeGreaterThan(150_000);
    expect(sizeBytes).toBeLessThan(600_000);
    expect((await store().read(key, 0, 1))?.chunks).toHaveLength(1);
    expect(await readSequences(store(), key, 0, 300_000)).toEqual(range(1, 200));
  });

  test("a write of 8 MiB comes back in pieces, and one event of 256 KiB in one", async () => {
    const key = await makeExecution(store());
    await store().append(appending(key, 1, 32, { chunk: deltas(key, 1, 32, 256 * 1024) }));
    const first = await store().read(key, 1, 64 * 1024);
    expect(first?.chunks).toHaveLength(1);
    expect(first?.chunks[0]?.lastSequence).toBe(2);
    expect(first?.chunks[0]?.bytes.length).toBeLessThan(300 * 1024);
    expect(await readSequences(store(), key, 0, 1 << 20)).toEqual(range(1, 33));
  });

  test("10,000 events written one by one read back byte for byte", { timeout: 60_000 }, async () => {
    const key = newKey();
    const writes = [store().append(creation(key))];
    for (let last = 1; last < 10_000; last++) writes.push(store().append(appending(key, last)));
    await Promise.all(writes);
    await store().append(ending(key, 10_000));
    expect(await readSequences(store(), key, 0, 50_000)).toEqual(range(1, 10_001));
    expect(await readSequences(store(), key, 9_990)).toEqual(range(9_991, 10_001));
    const slice = await store().read(key, 5_000, 1);
    const chunk = sliceChunk(slice!.chunks[0]!, 5_000)!;
    expect(decodeChunk(chunk)[0]).toMatchObject({ sequence: 5_001, payload: { value: { text: "5001;xxx" } } });
  });

  test("an execution may begin without events", async () => {
    const key = newKey();
    const { chunk: _, ...empty } = creation(key);
    await store().append({ ...empty, lastSequence: 0 });
    expect(await store().read(key, 0, 1000)).toMatchObject({ chunks: [], headSequence: 0, firstSequence: 1 });
    await store().append(appending(key, 0, 2));
    await store().append(sideOnly(key, 2, {}));
    expect(await readSequences(store(), key)).toEqual([1, 2]);
  });

  test("a read that races appends sees a log without a gap, up to the head that it names", async () => {
    const key = await makeExecution(store());
    let done = false;
    const writing = (async () => {
      for (let last = 1; last < 400; last++) await store().append(appending(key, last));
      done = true;
    })();
    while (!done) {
      const slice = await store().read(key, 0, 1 << 20);
      expect(slice?.chunks.flatMap(decodeChunk).map(({ sequence }) => sequence)).toEqual(range(1, slice!.headSequence));
    }
    await writing;
  });
}
