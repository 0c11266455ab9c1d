import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ActionKind } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { type Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { isHarnessError } from "../../src/core/errors.js";
import { isTerminal } from "../../src/core/lifecycle.js";
import type { ProviderEvent } from "../../src/core/provider.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { FakeClock, settle } from "./fake-clock.js";
import { eventsOf, Kit, manifest, provider } from "./kit.js";

const runs = process.env["SOAK"] === "1" ? 2_000 : 60;

const step = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ text: "word " }) },
  { weight: 1, arbitrary: fc.constant({ reasoning: "hm" }) },
  { weight: 1, arbitrary: fc.constant({ flood: { count: 20, bytes: 8 } }) },
  { weight: 1, arbitrary: fc.constant({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }) },
  { weight: 2, arbitrary: fc.nat(3_000).map((ms) => ({ sleep_ms: ms })) },
  {
    weight: 2,
    arbitrary: fc.nat(3).map((key) => ({ approval: { key: `a${key}`, title: "?", if_denied: "continue" } })),
  },
  { weight: 1, arbitrary: fc.nat(3).map((key) => ({ input: { key: `i${key}`, title: "?" } })) },
  { weight: 1, arbitrary: fc.constant({ await_steer: true }) },
  {
    weight: 1,
    arbitrary: fc.nat(2).map((id) => ({ artifact: { id: `f${id}`, name: "f", media_type: "text/plain" } })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<JsonObject>({ fail: "no" }, { throw: "oops" }, { emit_reserved: "run.completed" }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<JsonObject>({ ignore_abort: true }, { hang_cancel: true }, { emit_after_end: true }),
  },
);

const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("start" as const),
      steps: fc.array(step, { maxLength: 6 }),
      key: fc.option(fc.nat(2)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("hurry" as const),
      writes: fc.array(fc.constantFrom("text", "state", "both"), { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("send" as const),
      which: fc.nat(5),
      mode: fc.constantFrom(InputMode.FOLLOW_UP, InputMode.STEER, InputMode.REPLACE),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("respond" as const), which: fc.nat(5), approved: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), which: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("step" as const), ms: fc.nat(4_000) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("turns" as const), count: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("refuse" as const),
      writes: fc.integer({ min: 1, max: 3 }),
      sideRowsAlone: fc.boolean(),
    }),
  },
);

type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

/** Emits all that its config says at once, and again what the store refuses. */
const hasty = provider(
  async (context) => {
    const { config, attempt, turn } = context;
    const writes = (config["writes"] ?? []) as readonly ("text" | "state" | "both")[];
    const emissions = writes.map((write, index) => {
      const text = `${attempt}.${turn}.${index} `;
      const events: ProviderEvent[] = write === "state" ? [] : [deltaOf(text)];
      const extra = write === "text" ? {} : { resumeState: Buffer.from(text), mark: index + 1 };
      return insist(() => context.emit(events, extra));
    });
    await Promise.all(emissions);
  },
  { manifest: manifest("hasty") },
);

function deltaOf(text: string): ProviderEvent {
  return { case: "outputTextDelta", value: { text } } as ProviderEvent;
}

async function insist(emit: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await emit();
    } catch (error) {
      if (!isHarnessError(error, ErrorReason.STORE_UNAVAILABLE)) throw error;
    }
  }
}

/** Runs commands against one kit; what a caller is refused is fine, anything that is not a typed refusal is not. */
class World {
  readonly kit: Kit;
  readonly ids: string[] = [];
  /** What a reader of each execution has seen, over every crash. */
  readonly seen = new Map<string, number[]>();

  constructor(kit: Kit) {
    this.kit = kit;
  }

  async run(next: Command): Promise<void> {
    switch (next.do) {
      case "start":
        return await this.start(next.steps, next.key);
      case "hurry":
        return await this.allowed(async () => {
          const { id } = await this.kit.start({ providerId: "hasty", config: { writes: [...next.writes] } });
          this.ids.push(id);
        });
      case "send":
        return await this.on(next.which, (id) => this.kit.send(id, next.mode, "input"));
      case "respond":
        return await this.on(next.which, (id) => this.respond(id, next.approved));
      case "cancel":
        return await this.on(next.which, (id) => this.kit.cancel(id, "stop"));
      case "step":
        return await this.kit.fake.advance(next.ms);
      case "turns":
        for (let turn = 0; turn < next.count; turn++) await new Promise((resolve) => setImmediate(resolve));
        return;
      case "crash":
        await this.look();
        return await this.kit.crash();
      case "refuse": {
        let left = next.writes;
        this.kit.store.tamper = ({ chunk }) => {
          const mayFail = chunk === undefined || !next.sideRowsAlone;
          return mayFail && left-- > 0 ? "refuse" : "pass";
        };
        return;
      }
    }
  }

  async start(steps: readonly JsonObject[], key: number | null): Promise<void> {
    await this.allowed(async () => {
      const { id } = await this.kit.script(steps, key === null ? {} : { idempotencyKey: `k${key}` });
      if (!this.ids.includes(id)) this.ids.push(id);
    });
  }

  async on(which: number, act: (id: string) => Promise<unknown>): Promise<void> {
    const id = this.ids[which % Math.max(this.ids.length, 1)];
    if (id !== undefined) await this.allowed(() => act(id));
  }

  async allowed(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      expect(isHarnessError(error), String(error)).toBe(true);
    }
  }

  async respond(id: string, approved: boolean): Promise<void> {
    const [action] = (await this.kit.get(id)).openActions;
    if (action === undefined) return;
    const answer = action.kind === ActionKind.INPUT ? { value: fromJson(ValueSchema, "it") } : { approved };
    await this.kit.respond(action, answer);
  }

  /** Reads on from where each execution's reader was. */
  async look(): Promise<void> {
    for (const id of this.ids) {
      const seen = this.seen.get(id) ?? [];
      this.seen.set(id, seen);
      for await (const batch of this.kit.batches(id, { afterSequence: seen.at(-1) ?? 0, follow: false })) {
        seen.push(...eventsOf(batch).map(({ sequence }) => sequence));
      }
    }
  }

  /** Brings everything to its end: answers, then cancels, then lets every bound pass. */
  async finish(): Promise<void> {
    this.kit.store.tamper = () => "pass";
    for (let round = 0; round < 3; round++) {
      await this.kit.fake.advance(40_000);
      for (const id of this.ids) await this.allowed(() => this.respond(id, true));
    }
    for (const id of this.ids) await this.kit.cancel(id, "the end");
    await this.kit.fake.advance(60_000);
    await settle();
    await this.look();
    for (const id of this.ids) {
      const execution = await this.kit.get(id);
      const { state, lastSequence } = execution;
      expect(isTerminal(state), `execution ${id} in state ${state}`).toBe(true);
      expect(this.seen.get(id)).toEqual(Array.from({ length: lastSequence }, (_, index) => index + 1));
      if (execution.providerId === "hasty") await this.checkOutput(execution);
    }
  }

  /** What was emitted again is in the log once, and in the output as it is in the log. */
  async checkOutput({ id, state, turn, finalOutput }: Execution): Promise<void> {
    const deltas = (await this.kit.events(id)).filter(({ payload }) => payload.case === "outputTextDelta");
    const textOf = ({ payload }: Event) => (payload.case === "outputTextDelta" ? payload.value.text : "");
    expect(new Set(deltas.map(textOf)).size).toBe(deltas.length);
    if (state !== ExecutionState.SUCCEEDED) return;
    expect(finalOutput ?? "").toBe(
      deltas
        .filter((event) => event.turn === turn)
        .map(textOf)
        .join(""),
    );
  }
}

describe("invariants", () => {
  test("I1–I9 and L08 hold over random commands, scripts, crashes, store failures and clock steps", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async (commands) => {
        const clock = new FakeClock();
        const kit = new Kit({ clock, providers: [scriptedProvider({ clock }), hasty] });
        await kit.open();
        const world = new World(kit);
        for (const next of commands) await world.run(next);
        await world.finish();
        await kit.close();
      }),
      { numRuns: runs, endOnFailure: process.env["CI"] === "true" },
    );
  });
});
