import { expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Store } from "../../src/core/store.js";
import { appending, conversation, creation, newKey, type OpenStore, range } from "./fixtures.js";

const UNAVAILABLE = { reason: ErrorReason.STORE_UNAVAILABLE };

export function describeLifetime(open: OpenStore): void {
  test("closing ends what is under way first", async () => {
    const store = await open();
    const key = newKey();
    const writes = [store.append(creation(key)), ...range(1, 50).map((last) => store.append(appending(key, last)))];
    await Promise.all([store.close(), expect(Promise.all(writes)).resolves.toHaveLength(51)]);
  });

  test("a store that was closed is not lost", async () => {
    const store = await open();
    await store.append(creation(newKey()));
    const lost = store.lost ?? new Promise<never>(() => {});
    await store.close();
    const turns = new Promise((resolve) => setImmediate(() => setImmediate(resolve, "closed")));
    expect(await Promise.race([lost, turns])).toBe("closed");
  });

  test("closing twice, also at once, is closing", async () => {
    const store = await open();
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });

  test("after the close every call fails with STORE_UNAVAILABLE", async () => {
    const store = await open();
    const key = newKey();
    await store.append(creation(key));
    await store.close();
    for (const call of everyCall(store)) await expect(call()).rejects.toMatchObject(UNAVAILABLE);
  });

  test("a hint listener can be added and removed", async () => {
    const store = await open();
    const end = store.onHint(() => {});
    end();
    end();
    await store.close();
  });

  test("a store of one process says so", async () => {
    const store = await open();
    expect(store.kind).toMatch(/^[a-z]+$/);
    expect([typeof store.durable, typeof store.shared]).toEqual(["boolean", "boolean"]);
    await store.close();
  });
}

function everyCall(store: Store): (() => Promise<unknown>)[] {
  const key = newKey();
  const page = { pageSize: 1, pageToken: "" };
  return [
    () => store.append(creation(key)),
    () => store.read(key, 0, 1),
    () => store.getExecution(key),
    () => store.listExecutions({ tenantId: key.tenantId, ...page }),
    () => store.listUnfinished(),
    () => store.getAction(key, "a"),
    () => store.listActions({ tenantId: key.tenantId, ...page }),
    () => store.getAnswer(key, "a"),
    () => store.getInput(key, "a"),
    () => store.getSideRows(key),
    () => store.getArtifact(key, "a"),
    () => store.listArtifacts(key, page),
    () => store.createConversation(conversation(key.tenantId)),
    () => store.getConversation(key.tenantId, "c"),
    () => store.listConversations({ tenantId: key.tenantId, ...page }),
    () => store.findIdempotent(key.tenantId, "s"),
    () => store.claim(key, "node", 0, 1),
    () => store.renew(key, 1, 1),
    () => store.release(key, 1),
    () => store.trim(0),
  ];
}
