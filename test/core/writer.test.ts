import { expect, test } from "vitest";
import type { EventChunk } from "../../src/core/chunk.js";
import { type Decision, record } from "../../src/core/decision.js";
import { decodeFold, type Fold } from "../../src/core/fold.js";
import type { Log } from "../../src/core/provider.js";
import type { ExecutionKey, Store, StoredExecution } from "../../src/core/store.js";
import { type Decide, Writer } from "../../src/core/writer.js";
import { settle } from "./fake-clock.js";
import { readAll } from "./invariants.js";
import { aborted, gate, type Kit, openKit, provider } from "./kit.js";

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Starts an execution that waits; its runner writes nothing more. */
async function startWaiting(kit: Kit): Promise<ExecutionKey> {
  const { id } = await kit.start();
  await kit.until(id, "run.started");
  await settle();
  return { tenantId: "local", executionId: id };
}

async function storedOf(store: Store, key: ExecutionKey): Promise<StoredExecution> {
  const stored = await store.getExecution(key);
  if (stored === undefined) throw new Error("no execution");
  return stored;
}

async function foldOf(store: Store, key: ExecutionKey): Promise<Fold> {
  return decodeFold(await storedOf(store, key));
}

async function openWriter(
  store: Store,
  key: ExecutionKey,
  onCommit: (fold: Fold, chunk: EventChunk | undefined) => void = () => undefined,
  log = SILENT,
): Promise<Writer> {
  return new Writer(store, key, await foldOf(store, key), log, onCommit);
}

function say(text: string): Decide<string> {
  return (fold): Decision<string> => {
    return { ...record(fold, [{ case: "outputTextDelta", value: { text } }], 0), result: text };
  };
}

function mark(position: number): Decide<number> {
  return (fold) => ({
    fold: { ...fold, inner: { ...fold.inner, mark: position } },
    events: [],
    side: {},
    result: position,
  });
}

/** The text of every delta in the store. */
async function textsOf({ store }: Kit, key: ExecutionKey): Promise<readonly string[]> {
  const events = await readAll(store, await storedOf(store, key));
  return events.flatMap(({ payload }) => (payload.case === "outputTextDelta" ? [payload.value.text] : []));
}

const waiting = { providers: [provider(({ signal }) => aborted(signal))] };

test("what follows a refused write of side rows is stored once, and without what was refused", async () => {
  const kit = await openKit(waiting);
  const key = await startWaiting(kit);
  const writer = await openWriter(kit.store, key);
  kit.store.tamper = (write) => (write.chunk === undefined ? "refuse" : "pass");
  // It writes the row anew, with all that it was decided on.
  const rewrite: Decide<string> = (fold) => {
    const said = say("a")(fold);
    return { ...said, fold: { ...said.fold, inner: { ...said.fold.inner, revision: 1 } } };
  };
  const results = await Promise.allSettled([writer.decide(mark(1)), writer.decide(rewrite), writer.decide(say("b"))]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(await textsOf(kit, key)).toEqual(["a", "b"]);
  expect((await foldOf(kit.store, key)).inner).toMatchObject({ mark: 0, revision: 1 });
  expect(writer.committed).toMatchObject({ lastSequence: 5, inner: { mark: 0, revision: 1 } });
});

test("a write that was stored behind one that failed is answered and not written again", async () => {
  const kit = await openKit(waiting);
  const key = await startWaiting(kit);
  const writer = await openWriter(kit.store, key);
  const other = await openWriter(kit.store, key);
  await other.decide(say("other"));
  // As many events as the first decision has: the second one's place in the log is right all the same.
  const answers = await Promise.all([writer.decide(say("a")), writer.decide(say("b"))]);
  expect(answers).toEqual(["a", "b"]);
  expect(await textsOf(kit, key)).toEqual(["other", "b", "a"]);
});

test("where the truth cannot be read, what was stored behind a failure is answered and the rest is refused", async () => {
  const kit = await openKit(waiting);
  const key = await startWaiting(kit);
  const getExecution = () => Promise.reject(new Error("no connection"));
  const writer = await openWriter(kit.store, key);
  const other = await openWriter(kit.store, key);
  await other.decide(say("other"));
  const { getExecution: works } = kit.store;
  kit.store.getExecution = getExecution;
  const results = await Promise.allSettled([writer.decide(say("a")), writer.decide(say("b"))]);
  kit.store.getExecution = works;
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  await writer.decide(say("c"));
  expect(await textsOf(kit, key)).toEqual(["other", "b", "c"]);
});

test("a recovery reads the store once the writes under way are answered, and not before", async () => {
  const kit = await openKit(waiting);
  const key = await startWaiting(kit);
  const writer = await openWriter(kit.store, key);
  const slow = gate();
  let writes = 0;
  kit.store.tamper = () => (writes++ === 0 ? "refuse" : writes === 2 ? slow.promise : "pass");
  let reads = 0;
  const { getExecution } = kit.store;
  kit.store.getExecution = (...args) => {
    reads++;
    return getExecution(...args);
  };
  const first = writer.decide(say("a"));
  const second = writer.decide(say("b"));
  await expect(Promise.race([first, settle()])).resolves.toBeUndefined();
  expect(reads).toBe(0);
  slow.resolve();
  await expect(first).rejects.toThrow("the disk is full");
  expect(await second).toBe("b");
  expect(reads).toBe(1);
  expect(await textsOf(kit, key)).toEqual(["b"]);
});

test("a recovery that waits for a slow store takes no turns of the event loop", async () => {
  const kit = await openKit(waiting);
  const key = await startWaiting(kit);
  const writer = await openWriter(kit.store, key);
  const slow = gate();
  let writes = 0;
  kit.store.tamper = () => (writes++ === 0 ? "refuse" : writes === 2 ? slow.promise : "pass");
  const answers = Promise.allSettled([writer.decide(say("a")), writer.decide(say("b"))]);
  await settle();
  const active = process.getActiveResourcesInfo().filter((name) => name === "Immediate");
  slow.resolve();
  await answers;
  expect(active).toEqual([]);
});

test("callers are answered although what follows a commit fails, which is logged", async () => {
  const kit = await openKit(waiting);
  const key = await startWaiting(kit);
  const errors: unknown[] = [];
  const log = { ...SILENT, error: (fields: object) => void errors.push(fields) };
  const onCommit = () => {
    throw new RangeError("no stack left");
  };
  const writer = await openWriter(kit.store, key, onCommit, log);
  expect(await Promise.all([writer.decide(say("a")), writer.decide(say("b"))])).toEqual(["a", "b"]);
  expect(errors).toMatchObject([
    { executionId: key.executionId, error: { message: "no stack left" } },
    { executionId: key.executionId, error: { message: "no stack left" } },
  ]);
});

test("what a listener decides is answered after what was decided before it", async () => {
  const kit = await openKit(waiting);
  const key = await startWaiting(kit);
  const second = gate();
  const { append } = kit.store;
  let writes = 0;
  // The second write is answered before the first one.
  kit.store.append = async (write) => {
    const number = ++writes;
    await append.call(kit.store, write);
    if (number === 1) await second.promise;
    if (number === 2) setImmediate(second.resolve);
  };
  const told: string[] = [];
  const tell = async (text: string) => void told.push(await writer.decide(say(text)));
  const answers: Promise<void>[] = [];
  const writer = await openWriter(kit.store, key, ({ lastSequence }) => {
    if (lastSequence === 4) answers.push(tell("c"));
  });
  await Promise.all([tell("a"), tell("b")]);
  await Promise.all(answers);
  expect(told).toEqual(["a", "b", "c"]);
});
