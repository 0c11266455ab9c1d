import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { nameOf } from "../../src/core/event-name.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { ProviderContext } from "../../src/core/provider.js";
import type { WatchBatch } from "../../src/core/runtime.js";
import { Tail } from "../../src/core/tail.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { CrashableStore } from "./crashable-store.js";
import { settle } from "./fake-clock.js";
import { aborted, CALLER, eventsOf, gate, type Kit, openKit, provider } from "./kit.js";

const rounds = process.env["SOAK"] === "1" ? 10_000 : 200;

/** A provider whose test says what it emits and when it ends. */
function driven() {
  const contexts: ProviderContext[] = [];
  const entered = gate<ProviderContext>();
  const end = gate();
  const driver = provider(async (context) => {
    contexts.push(context);
    entered.resolve(context);
    await Promise.race([end.promise, aborted(context.signal)]);
  });
  const emit = async (text: string): Promise<void> =>
    (await entered.promise).emit({ case: "outputTextDelta", value: { text } });
  return { driver, emit, end: () => end.resolve(), entered: entered.promise };
}

const RUN_ONE_BY_ONE = { eventTypes: ["run.*"], maxBatch: 1 };

/** The sequences of batches that show one event each and end with it, until there are `most`. */
async function shownOneByOne(batches: AsyncIterable<WatchBatch>, most = Number.POSITIVE_INFINITY): Promise<number[]> {
  const seen: number[] = [];
  for await (const batch of batches) {
    expect(eventsOf(batch).map(({ sequence }) => sequence)).toEqual([batch.nextAfterSequence]);
    seen.push(batch.nextAfterSequence);
    if (seen.length >= most) break;
  }
  return seen;
}

/** Counts from now on how often the log is read from the store. */
function countReads({ store }: Kit): () => number {
  const read = store.read;
  let reads = 0;
  store.read = (...args) => {
    reads++;
    return read(...args);
  };
  return () => reads;
}

const FROM_START = { afterSequence: 0, eventTypes: [], maxBatch: 0, follow: true };

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

async function lastBatch(batches: AsyncIterable<WatchBatch>): Promise<WatchBatch | undefined> {
  let last: WatchBatch | undefined;
  for await (const batch of batches) last = batch;
  return last;
}

describe("replay", () => {
  test("R01 after k come only sequences above k, in order, then live ones, ended by the terminal event", async () => {
    const { driver, emit, end } = driven();
    const kit = await openKit({ providers: [driver] });
    const { id } = await kit.start();
    await emit("a");
    const seen: number[] = [];
    let last: WatchBatch | undefined;
    for await (const batch of kit.batches(id, { afterSequence: 2 })) {
      seen.push(...eventsOf(batch).map(({ sequence }) => sequence));
      last = batch;
      if (seen.at(-1) === 4) void emit("b").then(end);
    }
    expect(seen).toEqual([3, 4, 5, 6, 7]);
    expect(last).toMatchObject({ last: true, state: ExecutionState.SUCCEEDED, nextAfterSequence: 7, headSequence: 7 });
  });

  test("R02 a cursor beyond the head, a negative one and an unknown execution fail before any frame", async () => {
    const kit = await openKit();
    const { id } = await kit.start();
    const { lastSequence } = await kit.over(id);
    const open = (executionId: string, afterSequence: number) =>
      kit.batches(executionId, { afterSequence })[Symbol.asyncIterator]().next();
    await expect(open(id, lastSequence + 1)).rejects.toMatchObject({
      reason: ErrorReason.CURSOR_AHEAD,
      metadata: { head_sequence: String(lastSequence) },
    });
    await expect(open(id, -1)).rejects.toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    await expect(open("exe_none", 0)).rejects.toMatchObject({ reason: ErrorReason.NOT_FOUND });
  });

  test("R02 a trimmed log answers CURSOR_EXPIRED with the first retained sequence, and keeps its row", async () => {
    const kit = await openKit({ retention: [{ keepMs: 1_000 }] });
    const { id } = await kit.start();
    const { lastSequence, finalOutput } = await kit.over(id);
    await kit.fake.advance(70_000);
    const first = kit.batches(id)[Symbol.asyncIterator]().next();
    await expect(first).rejects.toMatchObject({
      reason: ErrorReason.CURSOR_EXPIRED,
      metadata: { first_sequence: String(lastSequence + 1) },
    });
    expect((await kit.get(id)).finalOutput).toBe(finalOutput);
    for await (const batch of kit.batches(id, { afterSequence: lastSequence })) expect(batch.last).toBe(true);
  });

  test("R03 at the terminal sequence: one empty frame, then the end", async () => {
    const kit = await openKit();
    const { id } = await kit.start();
    const { lastSequence } = await kit.over(id);
    const batches: WatchBatch[] = [];
    for await (const batch of kit.batches(id, { afterSequence: lastSequence })) batches.push(batch);
    expect(batches).toEqual([
      expect.objectContaining({ bytes: new Uint8Array(), nextAfterSequence: lastSequence, last: true }),
    ]);
  });

  test("R03 a filter that hides the terminal event ends the stream all the same", async () => {
    const kit = await openKit();
    const { id } = await kit.script([{ text: "a" }, { reasoning: "b" }, { text: "c" }]);
    const { lastSequence } = await kit.over(id);
    const seen: string[] = [];
    let last: WatchBatch | undefined;
    for await (const batch of kit.batches(id, { eventTypes: ["output.reasoning.*"] })) {
      seen.push(...eventsOf(batch).map(nameOf));
      last = batch;
    }
    expect(seen).toEqual(["output.reasoning.delta"]);
    expect(last).toMatchObject({ last: true, nextAfterSequence: lastSequence });
  });

  test("R03 a finished execution gives the same events as live, in the same order", async () => {
    const kit = await openKit();
    const { id } = await kit.script([{ text: "a" }, { flood: { count: 500, bytes: 20 } }, { text: "c" }]);
    const live: string[] = [];
    for await (const batch of kit.batches(id))
      live.push(...eventsOf(batch).map((event) => JSON.stringify(event, plain)));
    const replayed = (await kit.events(id)).map((event) => JSON.stringify(event, plain));
    expect(replayed).toEqual(live);
    expect(live.length).toBeGreaterThan(500);
  });

  test("R04 the first frame comes at once although the log is quiet; heartbeats carry the head", async () => {
    const { driver, entered, end } = driven();
    const kit = await openKit({ providers: [driver], limits: { heartbeatIntervalMs: 10_000 } });
    const { id } = await kit.start();
    await entered;
    const batches = kit.batches(id, { afterSequence: 3 });
    expect((await batches.next()).value).toMatchObject({ bytes: new Uint8Array(), headSequence: 3, last: false });
    const beat = batches.next();
    await settle();
    await kit.fake.advance(10_000);
    expect((await beat).value).toMatchObject({ bytes: new Uint8Array(), headSequence: 3, nextAfterSequence: 3 });
    end();
    await batches.return(undefined);
  });

  test("R06 a terminal event between catch-up and live is never missed", async () => {
    const kit = await openKit();
    for (let round = 0; round < rounds; round++) {
      const { id } = await kit.script(round % 2 === 0 ? [] : [{ text: "x" }]);
      await turns(round % 7);
      const last = await lastBatch(kit.batches(id));
      expect(last).toMatchObject({ last: true, state: ExecutionState.SUCCEEDED });
      expect(last?.nextAfterSequence).toBe(last?.headSequence);
    }
  });

  test("R07 with every hint dropped a watcher of another process still advances within the poll interval", async () => {
    const { driver, emit, end, entered } = driven();
    const inner = openMemoryStore();
    const kit = await openKit({ providers: [driver], inner });
    const { id } = await kit.start();
    await entered;
    const view = new CrashableStore(inner);
    view.listUnfinished = async () => [];
    view.onHint = () => () => undefined;
    const reader = await openRuntime({ store: view, clock: kit.clock, limits: { pollIntervalMs: 1_000 } });
    const watcher = await reader.watchEvents(CALLER, { ...FROM_START, executionId: id });
    expect((await watcher.next())?.nextAfterSequence).toBe(3);
    const next = watcher.next();
    await emit("seen");
    await kit.fake.advance(1_000);
    expect((await next)?.nextAfterSequence).toBe(4);
    end();
    await kit.over(id);
    const last = watcher.next();
    await kit.fake.advance(1_000);
    expect(await last).toMatchObject({ last: true, nextAfterSequence: 6 });
    await reader.close();
  });

  test("R09 two streams see the same number for the same event, and share its bytes", async () => {
    const { driver, emit, end, entered } = driven();
    const kit = await openKit({ providers: [driver] });
    const { id } = await kit.start();
    await entered;
    const [left, right] = [kit.batches(id), kit.batches(id)];
    const all = async (batches: AsyncGenerator<WatchBatch>) => {
      const seen: string[] = [];
      for await (const batch of batches) {
        for (const event of eventsOf(batch)) seen.push(`${event.sequence} ${nameOf(event)}`);
      }
      return seen;
    };
    const both = Promise.all([all(left), all(right)]);
    for (let count = 0; count < 50; count++) await emit(String(count));
    end();
    const [first, second] = await both;
    expect(first).toEqual(second);
    expect(first).toHaveLength(55);
  });

  test("R09 a filtered stream's next_after_sequence accounts for what it skipped", async () => {
    const { driver, emit, end, entered } = driven();
    const kit = await openKit({ providers: [driver], limits: { heartbeatIntervalMs: 1_000 } });
    const { id } = await kit.start();
    await entered;
    const batches = kit.batches(id, { eventTypes: ["run.*"] });
    await batches.next();
    for (let count = 0; count < 5; count++) await emit(String(count));
    const beat = batches.next();
    await settle();
    await kit.fake.advance(1_000);
    expect((await beat).value).toMatchObject({ bytes: new Uint8Array(), nextAfterSequence: 8, headSequence: 8 });
    end();
    await batches.return(undefined);
  });

  test("a batch has at most max_batch events, and no gap between batches", async () => {
    const kit = await openKit();
    const { id } = await kit.script([{ flood: { count: 100, bytes: 10 } }]);
    const { lastSequence } = await kit.over(id);
    const seen: number[] = [];
    for await (const batch of kit.batches(id, { maxBatch: 7 })) {
      const sequences = eventsOf(batch).map(({ sequence }) => sequence);
      expect(sequences.length).toBeLessThanOrEqual(7);
      seen.push(...sequences);
    }
    expect(seen).toEqual(Array.from({ length: lastSequence }, (_, index) => index + 1));
  });

  test("max_batch counts the events shown: a filtered batch ends with the last it may show", async () => {
    const { driver, emit, end, entered } = driven();
    const kit = await openKit({ providers: [driver] });
    const { id } = await kit.start();
    await entered;
    for (let count = 0; count < 50; count++) await emit(String(count));
    const live = await shownOneByOne(kit.batches(id, RUN_ONE_BY_ONE), 1);
    end();
    const { lastSequence } = await kit.over(id);
    const all = (await kit.events(id)).filter((event) => nameOf(event).startsWith("run."));
    const sequences = all.map(({ sequence }) => sequence);
    expect(await shownOneByOne(kit.batches(id, RUN_ONE_BY_ONE))).toEqual(sequences);
    expect(live).toEqual(sequences.slice(0, 1));
    expect(sequences.at(-1)).toBe(lastSequence);
  });

  test("a reader of single events behind memory reads each part of the log once", async () => {
    const kit = await openKit();
    const { id } = await kit.script([{ flood: { count: 3_000, bytes: 500 } }]);
    const { lastSequence } = await kit.over(id);
    const reads = countReads(kit);
    let count = 0;
    for await (const { nextAfterSequence } of kit.batches(id, { maxBatch: 1 })) expect(nextAfterSequence).toBe(++count);
    expect(count).toBe(lastSequence);
    expect(reads()).toBeLessThanOrEqual(3);
  });

  test("a reader that is away for two ticks gives up what it held of the log, and goes on without a gap", async () => {
    const kit = await openKit({ limits: { heartbeatIntervalMs: 10_000 } });
    const { id } = await kit.script([{ flood: { count: 100, bytes: 100 } }]);
    await kit.over(id);
    const reads = countReads(kit);
    const batches = kit.batches(id, { maxBatch: 1 });
    for (const sequence of [1, 2]) expect((await batches.next()).value?.nextAfterSequence).toBe(sequence);
    expect(reads()).toBe(1);
    await kit.fake.advance(2_000);
    expect((await batches.next()).value?.nextAfterSequence).toBe(3);
    expect(reads()).toBe(2);
    await batches.return(undefined);
  });

  test("a batch from memory holds no more than its own events", async () => {
    const { driver, emit, end, entered } = driven();
    const kit = await openKit({ providers: [driver] });
    const { id } = await kit.start();
    await entered;
    for (let count = 0; count < 100; count++) await emit("x".repeat(2_000));
    const watcher = await kit.runtime.watchEvents(CALLER, { ...FROM_START, executionId: id, maxBatch: 2 });
    for (let count = 0; count < 50; count++) {
      const { parts = [] } = (await watcher.next()) ?? {};
      for (const part of parts) expect(part.buffer.byteLength).toBeLessThanOrEqual(Math.max(65_536, Buffer.poolSize));
    }
    watcher.close();
    end();
  });

  test("only the latest of what readers may share is kept", () => {
    const tail = new Tail(1_000, 0, ExecutionState.RUNNING);
    const made: number[] = [];
    const share = (at: number) => tail.share(String(at), () => made.push(at));
    for (let at = 0; at < 100; at++) share(at);
    share(99);
    share(92);
    expect(made).toHaveLength(100);
    share(0);
    expect(made).toHaveLength(101);
  });

  test("an unknown event type is a VALIDATION_ERROR that names it", async () => {
    const kit = await openKit();
    const { id } = await kit.start();
    const first = kit.batches(id, { eventTypes: ["run.*", "runs.completed"] }).next();
    await expect(first).rejects.toMatchObject({
      reason: ErrorReason.VALIDATION_ERROR,
      metadata: { field: "event_types[1]" },
    });
  });

  test("closing a watcher, or aborting its signal, ends it at once and nothing else", async () => {
    const { driver, entered, end } = driven();
    const kit = await openKit({ providers: [driver] });
    const { id } = await kit.start();
    await entered;
    const options = { ...FROM_START, executionId: id, afterSequence: 3 };
    const [first, second] = [
      await kit.runtime.watchEvents(CALLER, options),
      await kit.runtime.watchEvents(CALLER, options),
    ];
    const abort = new AbortController();
    await first.next(abort.signal);
    await second.next();
    const waiting = [first.next(abort.signal), second.next()];
    abort.abort();
    second.close();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
    end();
  });

  test("another tenant's execution is NOT_FOUND in the words of one that never was", async () => {
    const kit = await openKit();
    const { id } = await kit.start();
    const other = { tenantId: "other", userId: "them" };
    const theirs = await kit.get(id, other).catch((error: Error) => error.message);
    const none = await kit.get("exe_none", other).catch((error: Error) => error.message);
    expect(theirs).toBe(String(none).replace("exe_none", id));
    await expect(kit.batches(id, {}, other).next()).rejects.toMatchObject({ reason: ErrorReason.NOT_FOUND });
  });
});

function plain(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

describe("the pace of a reader", () => {
  const KIB = 1024;
  const pace = { firstBytes: 64 * KIB, mostBytes: 256 * KIB };

  test.each([
    ["memory", 64 * 1024 * KIB],
    ["the store", 0],
  ])("its batches begin small, and grow as it takes them, from %s", async (_, tailBytes) => {
    const kit = await openKit({ limits: { tailBytes } });
    const { id } = await kit.script([{ flood: { count: 2_000, bytes: 1_000 } }]);
    await kit.over(id);
    const sizes: number[] = [];
    const sequences: number[] = [];
    for await (const batch of kit.batches(id, { pace })) {
      sizes.push(batch.bytes.length);
      sequences.push(...eventsOf(batch).map(({ sequence }) => sequence));
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(pace.mostBytes);
    expect(sizes[0]).toBeLessThanOrEqual(pace.firstBytes);
    expect(Math.max(...sizes)).toBeGreaterThan(2 * pace.firstBytes);
    expect(sequences).toEqual(Array.from({ length: sequences.length }, (__, index) => index + 1));
  });

  test("they begin small again where it waited at the head, and a larger event is a batch of its own", async () => {
    const { driver, emit, end } = driven();
    const kit = await openKit({ providers: [driver] });
    const { id } = await kit.start();
    const batches = kit.batches(id, { pace });
    const take = async (until: number): Promise<number[]> => {
      const sizes: number[] = [];
      for (let shown = 0; shown < until; ) {
        const { value } = (await batches.next()) as { value: WatchBatch };
        shown = value.nextAfterSequence;
        sizes.push(value.bytes.length);
      }
      return sizes;
    };
    await kit.until(id, "run.started");
    for (let count = 0; count < 1_000; count++) await emit("x".repeat(1_000));
    expect(Math.max(...(await take(1_003)))).toBeGreaterThan(2 * pace.firstBytes);
    const waiting = take(1_004);
    await settle();
    await emit("x".repeat(200 * KIB));
    expect(await waiting).toEqual([expect.any(Number)]);
    for (let count = 0; count < 100; count++) await emit("x".repeat(1_000));
    expect((await take(1_005))[0]).toBeLessThanOrEqual(2 * pace.firstBytes);
    end();
    await batches.return(undefined);
  });
});
