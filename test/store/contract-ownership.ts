import { expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { appending, makeExecution, newKey, type OpenStore, range, readSequences, useStore } from "./fixtures.js";

const FENCED = { reason: ErrorReason.FENCED };

export function describeOwnership(open: OpenStore): void {
  const store = useStore(open);

  test("a claim gives fencing numbers from 1, each one higher than the last", async () => {
    const key = await makeExecution(store());
    expect(await store().claim(key, "node-a", 0, 100)).toBe(1);
    expect(await store().claim(key, "node-a", 50, 200)).toBe(2);
    expect(await store().claim(key, "node-b", 200, 300)).toBe(3);
  });

  test("another owner's lease holds until its end", async () => {
    const key = await makeExecution(store());
    await store().claim(key, "node-a", 0, 100);
    expect(await store().claim(key, "node-b", 99, 200)).toBeUndefined();
    expect(await store().claim(key, "node-b", 100, 200)).toBe(2);
  });

  test("an execution that does not exist cannot be claimed, renewed or released", async () => {
    const key = newKey();
    expect(await store().claim(key, "node-a", 0, 100)).toBeUndefined();
    expect(await store().renew(key, 1, 100)).toBe(false);
    await store().release(key, 1);
    expect(await store().getExecution(key)).toBeUndefined();
  });

  test("of concurrent claims by different owners one wins", async () => {
    const key = await makeExecution(store());
    const claims = await Promise.all(range(1, 8).map((node) => store().claim(key, `node-${node}`, 0, 100)));
    expect(claims.filter((fence) => fence !== undefined)).toEqual([1]);
  });

  test("a renewal extends the lease for the current fencing number alone", async () => {
    const key = await makeExecution(store());
    await store().claim(key, "node-a", 0, 100);
    expect(await store().renew(key, 1, 500)).toBe(true);
    expect(await store().claim(key, "node-b", 499, 900)).toBeUndefined();
    expect(await store().claim(key, "node-b", 500, 900)).toBe(2);
    expect(await store().renew(key, 1, 9000)).toBe(false);
    expect(await store().claim(key, "node-c", 900, 1000)).toBe(3);
  });

  test("a release ends the lease at once, and its fencing number with it", async () => {
    const key = await makeExecution(store());
    await store().claim(key, "node-a", 0, 100);
    await store().release(key, 1);
    expect(await store().renew(key, 1, 500)).toBe(false);
    await expect(store().append(appending(key, 1, 1, { fence: 1 }))).rejects.toMatchObject(FENCED);
    expect(await store().claim(key, "node-b", 1, 100)).toBe(2);
  });

  test("a release with an old fencing number changes nothing", async () => {
    const key = await makeExecution(store());
    await store().claim(key, "node-a", 0, 100);
    await store().claim(key, "node-b", 100, 200);
    await store().release(key, 1);
    expect(await store().claim(key, "node-c", 150, 300)).toBeUndefined();
    await store().append(appending(key, 1, 1, { fence: 2 }));
  });

  test("S03 a stale owner's append is FENCED and writes nothing; a command needs no fencing number", async () => {
    const key = await makeExecution(store());
    await store().claim(key, "node-a", 0, 100);
    await store().append(appending(key, 1, 1, { fence: 1 }));
    await store().claim(key, "node-b", 100, 200);
    await expect(store().append(appending(key, 2, 1, { fence: 1 }))).rejects.toMatchObject(FENCED);
    await expect(store().append(appending(key, 9, 1, { fence: 1 }))).rejects.toMatchObject(FENCED);
    await store().append(appending(key, 2, 1, { fence: 2 }));
    await store().append(appending(key, 3));
    expect(await readSequences(store(), key)).toEqual(range(1, 4));
  });

  test("the end of a lease fences nobody until another claims", async () => {
    const key = await makeExecution(store());
    await store().claim(key, "node-a", 0, 100);
    await store().append(appending(key, 1, 1, { fence: 1 }));
    expect(await store().renew(key, 1, 400)).toBe(true);
  });

  test("an execution that nobody claimed fences every number", async () => {
    const key = await makeExecution(store());
    for (const fence of [0, 1]) {
      await expect(store().append(appending(key, 1, 1, { fence }))).rejects.toMatchObject(FENCED);
    }
  });

  test("S03 claims and appends of one execution take effect in the order they were made", async () => {
    const key = await makeExecution(store());
    const results = await Promise.allSettled([
      store().claim(key, "node-a", 0, 100),
      store().append(appending(key, 1, 1, { fence: 1 })),
      store().claim(key, "node-b", 100, 200),
      store().append(appending(key, 2, 1, { fence: 1 })),
      store().append(appending(key, 2, 1, { fence: 2 })),
      store().release(key, 2),
      store().append(appending(key, 3, 1, { fence: 2 })),
    ]);
    const statuses = results.map(({ status }) => status === "fulfilled");
    expect(statuses).toEqual([true, true, true, false, true, true, false]);
    expect(await readSequences(store(), key)).toEqual([1, 2, 3]);
  });
}
