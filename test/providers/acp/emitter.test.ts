import { expect, test } from "vitest";
import type { ProviderEvent } from "../../../src/core/provider.js";
import { Emitter } from "../../../src/providers/acp/emitter.js";

const update = (id: string, characters: number): ProviderEvent => ({
  case: "toolCallUpdated",
  value: { toolCallId: id, content: [{ part: { case: "text", value: "x".repeat(characters) } }] } as never,
});

/** An emitter whose appends end when the test says so. */
function openEmitter() {
  const batches: ProviderEvent[][] = [];
  const open: (() => void)[] = [];
  const emit = (events: readonly ProviderEvent[] | ProviderEvent): Promise<void> => {
    batches.push([events].flat() as ProviderEvent[]);
    return new Promise((resolve) => open.push(resolve));
  };
  const emitter = new Emitter({ emit } as never);
  const store = (): void => open.shift()?.();
  return { emitter, batches, store };
}

test("an agent whose tool calls are large is no longer read when a MiB of them waits, and is again after it", async () => {
  const { emitter, batches, store } = openEmitter();
  emitter.push(update("first", 10));
  await Promise.resolve();
  expect(batches).toHaveLength(1);
  for (let call = 0; call < 5; call++) emitter.push(update(`${call}`, 190_000));
  expect(emitter.ready()).toBeUndefined();
  emitter.push(update("5", 190_000));
  expect(emitter.ready()).toBeDefined();
  store();
  await new Promise((resolve) => setImmediate(resolve));
  expect(emitter.ready()).toBeUndefined();
});

test("what only the last is kept of counts once", () => {
  const { emitter } = openEmitter();
  for (let time = 0; time < 100; time++) emitter.push(update("same", 190_000));
  expect(emitter.ready()).toBeUndefined();
});

test("an append takes no more than about a MiB, and an event that is larger by itself", async () => {
  const { emitter, batches, store } = openEmitter();
  for (const [id, size] of [
    ["a", 700_000],
    ["b", 700_000],
    ["c", 3_000_000],
    ["d", 10],
  ] as const)
    emitter.push(update(id, size));
  const ids = () => batches.map((batch) => batch.map(({ value }) => (value as { toolCallId: string }).toolCallId));
  for (let append = 0; append < 3; append++) {
    await new Promise((resolve) => setImmediate(resolve));
    store();
  }
  await emitter.flush();
  expect(ids()).toEqual([["a", "b"], ["c"], ["d"]]);
});
