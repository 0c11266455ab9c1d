import fc from "fast-check";
import { expect, test } from "vitest";
import { type Decision, record } from "../../src/core/decision.js";
import { isHarnessError } from "../../src/core/errors.js";
import { decodeFold, type Fold } from "../../src/core/fold.js";
import type { Append, ExecutionKey, Store, StoredExecution } from "../../src/core/store.js";
import { Writer } from "../../src/core/writer.js";
import { unavailable } from "../../src/store/refusals.js";
import { FakeClock, settle } from "./fake-clock.js";
import { readAll } from "./invariants.js";
import { aborted, Kit, provider } from "./kit.js";

const runs = process.env["SOAK"] === "1" ? 20_000 : 300;

/** A decision, and what the store makes of its first write. */
const decision = fc.record({
  kind: fc.constantFrom("event", "side", "both", "nothing", "refusal"),
  /** Turns of the event loop until it is decided, written and answered. */
  decided: fc.nat(2),
  written: fc.nat(2),
  answered: fc.nat(2),
  fails: fc.boolean(),
});

type Op = typeof decision extends fc.Arbitrary<infer T> ? T : never;

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A slow store that fails: writes take effect in the order of the calls, each as the next of `ops` says. */
function faulty(inner: Store, ops: readonly Op[], readFails: readonly boolean[]): Store {
  const faults = ops.values();
  const failing = readFails.values();
  let last: Promise<unknown> = Promise.resolve();
  const append = async (write: Append): Promise<void> => {
    const fault = faults.next().value;
    const written = last.then(async () => {
      await turns(fault?.written ?? 0);
      if (fault?.fails === true) throw unavailable("the disk is full", {});
      await inner.append(write);
    });
    last = written.catch(() => undefined);
    await last;
    await turns(fault?.answered ?? 0);
    await written;
  };
  const getExecution: Store["getExecution"] = async (key) => {
    await turns(1);
    if (failing.next().value === true) throw unavailable("the disk is gone", {});
    return await inner.getExecution(key);
  };
  return { append, getExecution, getSideRows: (key) => inner.getSideRows(key) } as Partial<Store> as Store;
}

function decide(fold: Fold, { kind }: Op, index: number): Decision<number> {
  if (kind === "refusal") throw unavailable("no", {});
  const says = kind === "event" || kind === "both";
  const marks = kind === "side" || kind === "both";
  const said = says ? [{ case: "outputTextDelta" as const, value: { text: String(index) } }] : [];
  const { fold: after, events } = record(fold, said, 0);
  if (!marks) return { fold: after, events, result: index };
  return { fold: { ...after, inner: { ...after.inner, mark: index + 1 } }, events, side: {}, result: index };
}

async function storedOf(store: Store, key: ExecutionKey): Promise<StoredExecution> {
  const stored = await store.getExecution(key);
  if (stored === undefined) throw new Error("no execution");
  return stored;
}

test("S02 through every failure of a slow store, what was answered is stored once, in order, and nothing else is", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(decision, { minLength: 2, maxLength: 12 }),
      fc.array(fc.boolean(), { maxLength: 3 }),
      async (ops, readFails) => {
        const kit = new Kit({ clock: new FakeClock(), providers: [provider(({ signal }) => aborted(signal))] });
        await kit.open();
        const { id } = await kit.start();
        await kit.until(id, "run.started");
        await settle();
        const key = { tenantId: "local", executionId: id };
        const before = decodeFold(await storedOf(kit.store, key));
        let seen = before.lastSequence;
        const log = { debug() {}, info() {}, warn() {}, error() {} };
        const writer = new Writer(faulty(kit.store, ops, readFails), key, before, log, (fold, chunk) => {
          if (chunk !== undefined) expect(chunk.firstSequence).toBe(seen + 1);
          seen = fold.lastSequence;
        });
        const told: number[] = [];
        const pending: Promise<void>[] = [];
        for (const [index, op] of ops.entries()) {
          await turns(op.decided);
          const answer = writer.decide((fold) => decide(fold, op, index));
          pending.push(
            answer.then(
              (result) => void told.push(result),
              (error: unknown) => expect(isHarnessError(error), String(error)).toBe(true),
            ),
          );
        }
        await Promise.all(pending);

        const row = await storedOf(kit.store, key);
        const texts = (await readAll(kit.store, row)).flatMap(({ payload }) =>
          payload.case === "outputTextDelta" ? [Number(payload.value.text)] : [],
        );
        const kindOf = (index: number) => ops[index]?.kind;
        expect(texts).toEqual(told.filter((index) => kindOf(index) === "event" || kindOf(index) === "both"));
        const stored = decodeFold(row);
        const marked = told.findLast((index) => kindOf(index) === "side" || kindOf(index) === "both");
        expect(stored.inner.mark).toBe(marked === undefined ? 0 : marked + 1);
        const { lastSequence, inner } = writer.head;
        expect(writer.committed).toMatchObject({ lastSequence, inner });
        expect(stored).toMatchObject({ lastSequence, inner });
        expect(seen).toBe(lastSequence);
        await kit.close();
      },
    ),
    { numRuns: runs, endOnFailure: process.env["CI"] === "true" },
  );
});
