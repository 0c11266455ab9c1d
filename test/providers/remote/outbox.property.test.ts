import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ActionKind, ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { ProviderContext } from "../../../src/core/provider.js";
import { define, RemoteKit } from "./kit.js";

const soak = process.env["SOAK"] === "1";

/** So often the caller looks before an execution counts as stuck. */
const MOST_ROUNDS = 10_000;

/** What a provider does, one after the other, in one turn. */
type Deed =
  | { readonly kind: "emit"; readonly count: number; readonly wait: boolean }
  | { readonly kind: "artifact" }
  | { readonly kind: "ask" }
  | { readonly kind: "steer" };

/** What happens to the connection when so many messages have passed it. */
interface Fault {
  readonly after: number;
  readonly kind: "cut" | "crash" | "lose";
  readonly up: number;
  readonly down: number;
}

const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("emit"), count: fc.integer({ min: 1, max: 5 }), wait: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant<Deed>({ kind: "artifact" }) },
  { weight: 2, arbitrary: fc.constant<Deed>({ kind: "ask" }) },
  { weight: 1, arbitrary: fc.constant<Deed>({ kind: "steer" }) },
) as fc.Arbitrary<Deed>;

const fault: fc.Arbitrary<Fault> = fc.record({
  after: fc.integer({ min: 0, max: 60 }),
  kind: fc.constantFrom("cut", "cut", "cut", "lose", "crash"),
  up: fc.integer({ min: 0, max: 3 }),
  down: fc.integer({ min: 0, max: 3 }),
});

describe("the outbox", () => {
  test("loses, doubles and reorders nothing, wherever the connection is cut and the runtime is killed", async () => {
    const turns = fc.array(fc.array(deed, { maxLength: 8 }), { minLength: 1, maxLength: 3 });
    const property = fc.asyncProperty(turns, fc.array(fault, { maxLength: 6 }), survive);
    await fc.assert(property, { numRuns: soak ? 5_000 : 80 });
  }, 3_600_000);
});

/** Runs the deeds while the faults happen, and checks that the log has each exactly once, in order. */
async function survive(turns: readonly (readonly Deed[])[], faults: readonly Fault[]): Promise<void> {
  const remote = new RemoteKit();
  await remote.open();
  const { kit } = remote;
  const expected: string[] = [];
  const failures: unknown[] = [];
  const begun = new Set<number>();
  try {
    await remote.connect(
      define(async (context) => {
        try {
          expect(begun, "a turn that an attempt before has begun").not.toContain(context.turn);
          begun.add(context.turn);
          await act(context, turns[context.turn - 1] ?? [], expected);
        } catch (error) {
          failures.push(error);
          throw error;
        }
        return undefined;
      }),
    );
    const inject = schedule(remote, faults);
    const { id } = await remote.again(() => remote.start({ idempotencyKey: "start" }));
    for (let turn = 2; turn <= turns.length; turn++) {
      await remote.again(() => kit.send(id, InputMode.FOLLOW_UP, `turn ${turn}`, `follow-up ${turn}`));
    }
    await serveCaller(
      remote,
      id,
      turns.map((deeds) => deeds.filter(({ kind }) => kind === "steer").length),
    );
    await inject.settled();
    expect(failures).toEqual([]);
    expect(await kit.get(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, turn: turns.length });
    expect(seenIn(await kit.events(id))).toEqual(expected);
  } finally {
    await remote.close();
  }
}

async function act(context: ProviderContext, deeds: readonly Deed[], expected: string[]): Promise<void> {
  // Those that an attempt before took, which never ran, are told and not sent again.
  const told = [...(context.resume?.inputs ?? [])];
  const steers = context.steers()[Symbol.asyncIterator]();
  const emitted: Promise<void>[] = [];
  for (const [index, { kind, ...how }] of deeds.entries()) {
    const name = `${context.turn}.${index}`;
    expected.push(name);
    if (kind === "ask") {
      const answer = await context.requestAction({ key: name, kind: ActionKind.APPROVAL, title: name });
      expect(answer).toMatchObject({ approved: true, delivered: false, key: name });
    } else if (kind === "artifact") {
      emitted.push(context.artifact({ id: name, name, mediaType: "text/plain" }));
    } else {
      if (kind === "steer" && told.shift() === undefined) await steers.next();
      const count = "count" in how ? how.count : 1;
      const texts = Array.from({ length: count }, (_, part) => (part === 0 ? name : `${name}+${part}`));
      expected.push(...texts.slice(1));
      const stored = context.emit(texts.map((text) => ({ case: "outputTextDelta", value: { text } })));
      if ("wait" in how && how.wait) await stored;
      else emitted.push(stored);
    }
  }
  await Promise.all(emitted);
}

/** Answers every question and sends steers until the execution is over, through every restart. */
async function serveCaller(remote: RemoteKit, id: string, steers: readonly number[]): Promise<void> {
  const { kit } = remote;
  const sent = steers.map(() => 0);
  let rounds = 0;
  const isOver = async (): Promise<boolean> => {
    const execution = await remote.again(() => kit.get(id));
    return execution.state >= ExecutionState.SUCCEEDED && execution.state !== ExecutionState.CANCELLING;
  };
  while (!(await isOver())) {
    for (const action of await remote.again(() => kit.actions(id))) {
      if (action.state === ActionState.PENDING)
        await remote.again(() => kit.respond(action, { approved: true }).catch(() => undefined));
    }
    const execution = await remote.again(() => kit.get(id));
    const waits = execution.state === ExecutionState.RUNNING && execution.openActions.length === 0;
    const turn = execution.turn - 1;
    if (waits && (sent[turn] ?? 0) < (steers[turn] ?? 0)) {
      const number = (sent[turn] ?? 0) + 1;
      sent[turn] = number;
      const key = `steer ${turn} ${number}`;
      await remote.again(() => kit.send(id, InputMode.STEER, "steer", key));
    }
    // An attempt whose very first message a kill of the runtime took is waited for until the grace is over.
    if (++rounds % 500 === 0) await kit.fake.advance(5_000);
    if (rounds > MOST_ROUNDS) throw new Error("the execution does not end");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Counts what passes the wire, and does to it what is due. */
function schedule(remote: RemoteKit, faults: readonly Fault[]): { settled(): Promise<void> } {
  const { wire } = remote;
  const due = [...faults].sort((a, b) => a.after - b.after);
  let passed = 0;
  let crashed = Promise.resolve();
  const pass = (): boolean => {
    const [next] = due;
    if (next === undefined || passed++ < next.after) return true;
    due.shift();
    if (next.kind === "crash") crashed = crashed.then(() => remote.crash());
    else wire.cut({ up: next.up, down: next.down });
    return next.kind !== "lose";
  };
  wire.onUp = pass;
  wire.onDown = pass;
  return {
    async settled() {
      due.length = 0;
      await crashed;
    },
  };
}

/** The names of what the provider did, as the log has them. */
function seenIn(events: readonly Event[]): string[] {
  return events.flatMap(({ payload }) => {
    if (payload.case === "outputTextDelta") return [payload.value.text];
    if (payload.case === "artifactCreated") return [payload.value.artifact?.id ?? ""];
    if (payload.case === "actionRequired") return [payload.value.action?.title ?? ""];
    return [];
  });
}
