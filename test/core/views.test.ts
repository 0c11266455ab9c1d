import { getEventListeners } from "node:events";
import { create, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { WatchActionsRequestSchema } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { WatchExecutionsRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { settle } from "./fake-clock.js";
import { CALLER, type Kit, openKit } from "./kit.js";

const HEARTBEAT_MS = 10_000;
const MIB = 1024 * 1024;
const HEARTBEAT = { synced: true, removedIds: [] };

/** A frame of either view. */
interface Shown {
  readonly items: readonly (Message & { readonly id: string })[];
  readonly synced: boolean;
  readonly removedIds: readonly string[];
}

/** Opens a view of all executions, or of all open actions. */
async function* watch(kit: Kit, what: "executions" | "actions", signal: AbortSignal): AsyncGenerator<Shown> {
  if (what === "executions") {
    const request = create(WatchExecutionsRequestSchema);
    for await (const { executions, ...rest } of kit.runtime.watchExecutions(CALLER, request, signal)) {
      yield { items: executions, ...rest };
    }
  } else {
    const request = create(WatchActionsRequestSchema);
    for await (const { actions, ...rest } of kit.runtime.watchActions(CALLER, request, signal)) {
      yield { items: actions, ...rest };
    }
  }
}

/** A view that is read as fast as it comes. */
async function read(kit: Kit, what: "executions" | "actions") {
  const abort = new AbortController();
  const frames: Shown[] = [];
  const end = (async () => {
    for await (const frame of watch(kit, what, abort.signal)) frames.push(frame);
  })();
  await settle();
  return {
    /** What came since it was last asked. */
    take: () => frames.splice(0),
    end,
    async close() {
      abort.abort();
      await end;
    },
  };
}

function sizeOf(schema: DescMessage, { items }: Shown): number {
  return items.reduce((sum, item) => sum + toBinary(schema, item).length, 0);
}

describe.each(["executions", "actions"] as const)("a view of %s", (what) => {
  const open = () => openKit({ limits: { heartbeatIntervalMs: HEARTBEAT_MS } });

  test("that is quiet sends an empty frame every heartbeat interval", async () => {
    const kit = await open();
    const view = await read(kit, what);
    expect(view.take()).toEqual([{ items: [], ...HEARTBEAT }]);
    await kit.fake.advance(HEARTBEAT_MS / 2);
    expect(view.take()).toEqual([]);
    await kit.fake.advance(HEARTBEAT_MS / 2);
    expect(view.take()).toEqual([{ items: [], ...HEARTBEAT }]);
    await kit.fake.advance(3 * HEARTBEAT_MS);
    expect(view.take()).toEqual(Array(3).fill({ items: [], ...HEARTBEAT }));
    await view.close();
  });

  test("counts its silence from the last frame, whatever changes that it does not show", async () => {
    const kit = await open();
    const other = { tenantId: "other", userId: "bob" };
    const view = await read(kit, what);
    await kit.fake.advance(HEARTBEAT_MS * 0.6);
    const { id } = await kit.script([{ approval: {} }]);
    await kit.action(id);
    await kit.fake.advance(HEARTBEAT_MS * 0.1);
    expect(view.take().flatMap(({ items }) => items)).not.toEqual([]);
    await kit.fake.advance(HEARTBEAT_MS * 0.5);
    expect(view.take()).toEqual([]);
    await kit.start({ providerId: "scripted", config: { steps: [{ text: "x" }] } }, other);
    await kit.fake.advance(HEARTBEAT_MS * 0.5);
    expect(view.take()).toEqual([{ items: [], ...HEARTBEAT }]);
    await view.close();
  });

  test("ends with its runtime, and leaves nothing on a signal that outlives it", async () => {
    const kit = await open();
    const { signal } = new AbortController();
    for (let count = 0; count < 3; count++) {
      for await (const { synced } of watch(kit, what, signal)) if (synced) break;
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const view = await read(kit, what);
    await kit.runtime.close();
    await view.end;
    const ended = await read(kit, what);
    await ended.close();
  });
});

test("W03 what changes at once in a view of executions comes in frames of at most 2 MiB", async () => {
  const kit = await openKit();
  const view = await read(kit, "executions");
  await kit.script([]);
  await kit.fake.advance(250);
  view.take();
  const text = "x".repeat(900_000);
  const started = await Promise.all(Array.from({ length: 7 }, () => kit.script([], { input: { text } })));
  await settle();
  expect(view.take()).toEqual([]);
  await kit.fake.advance(250);
  const frames = view.take();
  expect(frames.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(started.map(({ id }) => id));
  expect(frames.flatMap(({ items }) => items)).toMatchObject(started.map(() => ({ state: ExecutionState.SUCCEEDED })));
  expect(frames.map(({ items, synced }) => [items.length, synced])).toEqual([2, 2, 2, 1].map((count) => [count, true]));
  await view.close();
});

test("W03 what changes at once in a view of actions comes in frames of at most 2 MiB", async () => {
  const kit = await openKit();
  const view = await read(kit, "actions");
  const first = await kit.script([{ approval: {} }]);
  const removed = await kit.action(first.id);
  await kit.fake.advance(250);
  view.take();
  const payload = { diff: "x".repeat(60_000) };
  const started = await Promise.all(Array.from({ length: 80 }, () => kit.script([{ approval: { payload } }])));
  await kit.respond(removed, { approved: true });
  for (const { id } of started) await kit.action(id);
  await kit.fake.advance(250);
  const frames = view.take();
  expect(frames.flatMap(({ items }) => items)).toHaveLength(80);
  expect(frames.flatMap(({ removedIds }) => removedIds)).toEqual([removed.id]);
  expect(frames).toHaveLength(3);
  for (const frame of frames) expect(sizeOf(ActionRequestSchema, frame)).toBeLessThanOrEqual(2 * MIB);
  await view.close();
});

test("a reader that is far behind is shown all that matches anew, and what does not any more", async () => {
  const kit = await openKit({ limits: { maxOpenExecutions: 20_000 } });
  const gone = await kit.script([{ text: "x" }, { await_steer: true }]);
  const kept = await kit.script([{ text: "x" }, { await_steer: true }]);
  await kit.until(kept.id, "output.text.delta");
  const states = [ExecutionState.RUNNING];
  const abort = new AbortController();
  const request = create(WatchExecutionsRequestSchema, { states });
  const view = kit.runtime.watchExecutions(CALLER, request, abort.signal)[Symbol.asyncIterator]();
  const next = async () => (await view.next()).value as { executions: { id: string }[]; removedIds: string[] };
  expect((await next()).executions).toHaveLength(2);
  await next();
  // Nobody reads now.
  await kit.cancel(gone.id, "", true);
  for (let round = 0; round < 20; round++) {
    const started = await Promise.all(Array.from({ length: 510 }, () => kit.script([])));
    for (const { id } of started) await kit.over(id);
  }
  const { id } = await kit.script([{ text: "x" }, { await_steer: true }]);
  await kit.until(id, "output.text.delta");
  const reading = next();
  await kit.fake.advance(250);
  const { executions, removedIds } = await reading;
  expect({ shown: executions.map((execution) => execution.id), removedIds }).toEqual({
    shown: [id, kept.id],
    removedIds: [gone.id],
  });
  abort.abort();
  await view.return?.();
});
