import { expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { IdempotencyTakenError } from "../../src/core/store.js";
import {
  appending,
  conversation,
  creation,
  makeExecution,
  newKey,
  type OpenStore,
  range,
  readSequences,
  text,
  unique,
  useStore,
} from "./fixtures.js";

export function describeIdempotency(open: OpenStore): void {
  const store = useStore(open);

  test("P06 of 100 concurrent creations under one scope one wins, and the others learn of it", async () => {
    const tenantId = unique("tenant");
    const keys = range(1, 100).map(() => newKey(tenantId));
    const results = await Promise.allSettled(
      keys.map((key) => {
        const idempotency = { scope: "start//k", digest: "d", resourceId: key.executionId };
        return store().append(creation(key, {}, { idempotency }));
      }),
    );
    const winner = keys[results.findIndex(({ status }) => status === "fulfilled")]!;
    const losers = results.filter((result) => result.status === "rejected").map(({ reason }) => reason);
    expect(losers).toHaveLength(99);
    for (const loser of losers) {
      expect(loser).toBeInstanceOf(IdempotencyTakenError);
      expect(loser.existing).toEqual({ scope: "start//k", digest: "d", resourceId: winner.executionId });
    }
    const page = await store().listExecutions({ tenantId, pageSize: 1000, pageToken: "" });
    expect(page.items.map(({ key }) => key)).toEqual([winner]);
  });

  test("what was stored under a scope is found, in its tenant alone", async () => {
    const key = newKey();
    const idempotency = { scope: "s", digest: "abc", resourceId: key.executionId };
    await store().append(creation(key, {}, { idempotency }));
    expect(await store().findIdempotent(key.tenantId, "s")).toEqual(idempotency);
    expect(await store().findIdempotent(key.tenantId, "t")).toBeUndefined();
    expect(await store().findIdempotent(unique("tenant"), "s")).toBeUndefined();
    await makeExecution(store(), {}, { key: newKey() });
    const other = newKey();
    await store().append(creation(other, {}, { idempotency: { ...idempotency, resourceId: other.executionId } }));
    expect((await store().findIdempotent(other.tenantId, "s"))?.resourceId).toBe(other.executionId);
  });

  test("a later write under a taken scope fails as a whole, also where it expects an old log", async () => {
    const key = await makeExecution(store());
    const idempotency = { scope: "send/k", digest: "d", resourceId: "inp_1" };
    await store().append(appending(key, 1, 1, { idempotency }));
    for (const expected of [1, 2]) {
      await expect(store().append(appending(key, expected, 1, { idempotency }))).rejects.toThrow(IdempotencyTakenError);
    }
    expect(await readSequences(store(), key)).toEqual([1, 2]);
  });

  test("a write that is refused takes no scope", async () => {
    const key = await makeExecution(store());
    const idempotency = { scope: "send/k", digest: "d", resourceId: "inp_1" };
    await expect(store().append(appending(key, 5, 1, { idempotency }))).rejects.toMatchObject({
      reason: ErrorReason.SEQUENCE_CONFLICT,
    });
    expect(await store().findIdempotent(key.tenantId, "send/k")).toBeUndefined();
    await store().append(appending(key, 1, 1, { idempotency }));
  });

  test("a conversation is stored once for its ID and once for its scope", async () => {
    const tenantId = unique("tenant");
    const first = conversation(tenantId);
    const idempotency = { scope: "conversation/k", digest: "d", resourceId: first.conversationId };
    await store().createConversation(first, idempotency);
    expect(text(await store().getConversation(tenantId, first.conversationId))).toBe(text(first.bytes));
    expect(await store().getConversation(unique("tenant"), first.conversationId)).toBeUndefined();
    expect(await store().getConversation(tenantId, "cnv_none")).toBeUndefined();

    await expect(store().createConversation(first)).rejects.toMatchObject({ reason: ErrorReason.SEQUENCE_CONFLICT });
    const second = conversation(tenantId);
    await expect(store().createConversation(second, idempotency)).rejects.toMatchObject({ existing: idempotency });
    expect(await store().getConversation(tenantId, second.conversationId)).toBeUndefined();
  });

  test("a conversation that is refused for its ID takes no scope", async () => {
    const tenantId = unique("tenant");
    const first = conversation(tenantId);
    await store().createConversation(first);
    const idempotency = { scope: "conversation/k", digest: "d", resourceId: first.conversationId };
    await expect(store().createConversation(first, idempotency)).rejects.toMatchObject({
      reason: ErrorReason.SEQUENCE_CONFLICT,
    });
    expect(await store().findIdempotent(tenantId, "conversation/k")).toBeUndefined();
  });

  test("a conversation is made with its first execution, or with none of it", async () => {
    const key = newKey();
    const newConversation = conversation(key.tenantId);
    const idempotency = { scope: "start/k", digest: "d", resourceId: key.executionId };
    await store().append(creation(key, { newConversation }, { idempotency }));
    expect(text(await store().getConversation(key.tenantId, newConversation.conversationId))).toBe(
      text(newConversation.bytes),
    );
    const second = { ...newKey(), tenantId: key.tenantId };
    const refused = conversation(key.tenantId);
    await expect(store().append(creation(second, { newConversation: refused }, { idempotency }))).rejects.toMatchObject(
      { existing: idempotency },
    );
    expect(await store().getConversation(key.tenantId, refused.conversationId)).toBeUndefined();
  });
  test("an execution whose new conversation is there already is not made", async () => {
    const key = newKey();
    const newConversation = conversation(key.tenantId);
    await store().createConversation(newConversation);
    const idempotency = { scope: "start/k", digest: "d", resourceId: key.executionId };
    await expect(store().append(creation(key, { newConversation }, { idempotency }))).rejects.toMatchObject({
      reason: ErrorReason.SEQUENCE_CONFLICT,
    });
    expect(await store().getExecution(key)).toBeUndefined();
    expect(await store().findIdempotent(key.tenantId, "start/k")).toBeUndefined();
  });
}
