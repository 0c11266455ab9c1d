import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { EVENT_NAMES } from "../../src/core/event-name.js";
import { type EventKind, type EventPayload, nextState, TERMINAL, TRANSITIONS } from "../../src/core/lifecycle.js";
import type { ProviderContext, ProviderEvent } from "../../src/core/provider.js";
import { aborted, CALLER, gate, manifest, only, openKit, provider } from "./kit.js";

const STATES = Object.values(ExecutionState).filter((state): state is ExecutionState => typeof state === "number");

/** Tries one event in one state: the edge that it takes, or none. */
function edgeFrom(state: ExecutionState, kind: EventKind): string[] {
  const payload = { case: kind, value: { action: { kind: 1 } } } as unknown as EventPayload;
  try {
    return [`${ExecutionState[state]}>${ExecutionState[nextState(state, payload)]}`];
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    return [];
  }
}

describe("lifecycle", () => {
  test("L01 a valid start returns QUEUED and event 1 is run_queued with the provider id", async () => {
    const kit = await openKit();
    const started = await kit.start();
    expect(started.state).toBe(ExecutionState.QUEUED);
    expect(started).toMatchObject({ attempt: 1, turn: 1, lastSequence: 1, rootExecutionId: started.id });
    await kit.over(started.id);
    const [first] = await kit.events(started.id);
    expect(first).toMatchObject({ sequence: 1, payload: { case: "runQueued", value: { providerId: "scripted" } } });
  });

  test("L02 a finished execution has sequences 1..n and exactly one terminal event, the last", async () => {
    const kit = await openKit();
    const { id } = await kit.script([{ text: "one" }, { reasoning: "two" }, { text: "three" }]);
    const over = await kit.over(id);
    const events = await kit.events(id);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)?.payload.case).toBe("runCompleted");
    expect(over.lastSequence).toBe(events.length);
  });

  test("L03 success has the final output directly before the end; failure and cancellation have none", async () => {
    const kit = await openKit();
    const succeeded = await kit.over((await kit.script([{ text: "Hello " }, { text: "you" }])).id);
    const events = await kit.events(succeeded.id);
    expect(events.at(-2)?.payload).toMatchObject({ case: "outputTextDone", value: { text: "Hello you", itemId: "" } });
    expect(events.at(-1)?.payload).toMatchObject({ case: "runCompleted", value: { finalOutput: "Hello you" } });
    expect(succeeded.finalOutput).toBe("Hello you");

    const failed = await kit.over((await kit.script([{ text: "half" }, { fail: "broken" }])).id);
    expect(failed.finalOutput).toBeUndefined();
    expect(await kit.names(failed.id)).not.toContain("output.text.done");
    expect(only(await kit.events(failed.id), "runFailed")).toMatchObject({ partialOutput: "half", message: "broken" });
  });

  test("L04 a provider that returns nothing succeeds with an empty output", async () => {
    const kit = await openKit({ providers: [provider(async () => undefined)] });
    const over = await kit.over((await kit.start()).id);
    expect(over).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "" });
  });

  test.each<[string, unknown]>([
    ["a string", "done"],
    ["no status", {}],
    ["an unknown status", { status: "finished" }],
    ["an output that is not text", { status: "succeeded", finalOutput: 7 }],
    ["a structured output that is not JSON", { status: "succeeded", structuredOutput: { at: Number.NaN } }],
    ["a negative usage", { status: "succeeded", usage: { totalTokens: -1 } }],
    ["a failure without words", { status: "failed" }],
  ])("L04 a provider that returns a malformed result (%s) fails", async (_, outcome) => {
    const kit = await openKit({ providers: [provider(async () => outcome)] });
    const over = await kit.over((await kit.start()).id);
    expect(over.state).toBe(ExecutionState.FAILED);
    expect(over.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
  });

  test.each([
    ["an error", () => new Error("no such file"), "no such file"],
    ["an error with an empty message", () => new Error(""), "the provider threw an error without a message"],
    ["a word", () => "oops", "oops"],
  ])(
    "L05 a provider that throws %s: FAILED with PROVIDER_ERROR, and the event repeats it",
    async (_, make, message) => {
      const kit = await openKit({
        providers: [
          provider(async () => {
            throw make();
          }),
        ],
      });
      const over = await kit.over((await kit.start()).id);
      expect(over.error).toMatchObject({ reason: FailureReason.PROVIDER_ERROR, message });
      expect(only(await kit.events(over.id), "runFailed")).toMatchObject({
        reason: FailureReason.PROVIDER_ERROR,
        message,
      });
    },
  );

  test("L06 an emission after the terminal event is not appended and does not throw", async () => {
    const contexts: ProviderContext[] = [];
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          contexts.push(context);
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    await contexts[0]?.emit({ case: "outputTextDelta", value: { text: "late" } });
    expect((await kit.get(over.id)).lastSequence).toBe(over.lastSequence);
  });

  test("L06 an emission while CANCELLING is appended, before the terminal event", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          await aborted(context.signal);
          await context.emit({ case: "outputTextDelta", value: { text: "bye" } });
          return { status: "cancelled" };
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await kit.cancel(id, "enough", true);
    const names = await kit.names(id);
    expect(names.slice(-3)).toEqual(["run.cancelling", "output.text.delta", "run.cancelled"]);
  });

  test.each<[string, unknown]>([
    ["a kind of the runtime's", { case: "runCompleted", value: { finalOutput: "mine" } }],
    ["a kind that is none", { case: "nonsense", value: {} }],
    ["a delta without text", { case: "outputTextDelta", value: {} }],
    ["a number that is not finite", { case: "providerEvent", value: { type: "acme.x", data: { at: Number.NaN } } }],
    ["a tool call without an id", { case: "toolCallStarted", value: { name: "shell" } }],
    ["no value", { case: "outputTextDelta" }],
    ["nothing", null],
  ])(
    "L07 a provider that emits %s appends nothing and ends FAILED, also when it swallowed the error",
    async (_, bad) => {
      let thrown: unknown;
      const kit = await openKit({
        providers: [
          provider(async (context) => {
            thrown = await context.emit(bad as never).catch((error: unknown) => error);
            return { status: "succeeded", finalOutput: "fine" };
          }),
        ],
      });
      const over = await kit.over((await kit.start()).id);
      expect(thrown).toBeInstanceOf(Error);
      expect(over.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
      expect(await kit.names(over.id)).toEqual(["run.queued", "run.starting", "run.started", "run.failed"]);
    },
  );

  test.each(["output.text.delta", "run.custom", "tool.call", "nodots", "", ".x", "acme."])(
    "L10 a provider_event of type %j is a violation",
    async (type) => {
      const kit = await openKit({
        providers: [
          provider(async (context) => {
            await context.emit({ case: "providerEvent", value: { type, data: {} } }).catch(() => undefined);
          }),
        ],
      });
      const over = await kit.over((await kit.start()).id);
      expect(over.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
    },
  );

  test("L09 a state that is not in the diagram's edges cannot be written: every pair is tried", () => {
    const kinds = EVENT_NAMES.map((name) => name.replaceAll(/\.(.)/g, (_, letter: string) => letter.toUpperCase()));
    const reached = new Set(kinds.flatMap((kind) => STATES.flatMap((state) => edgeFrom(state, kind as EventKind))));
    const moves = [...reached].filter((edge) => edge.split(">")[0] !== edge.split(">")[1]);
    expect(moves.toSorted()).toEqual(
      [
        "UNSPECIFIED>QUEUED",
        "QUEUED>STARTING",
        "STARTING>RUNNING",
        "RUNNING>AWAITING_APPROVAL",
        "AWAITING_APPROVAL>RUNNING",
        "AWAITING_INPUT>RUNNING",
        "RUNNING>SUCCEEDED",
        "RUNNING>FAILED",
        "QUEUED>CANCELLING",
        "STARTING>CANCELLING",
        "RUNNING>CANCELLING",
        "AWAITING_INPUT>CANCELLING",
        "AWAITING_APPROVAL>CANCELLING",
        "CANCELLING>CANCELLED",
      ].toSorted(),
    );
    for (const state of TERMINAL)
      expect([...reached].filter((edge) => edge.startsWith(`${ExecutionState[state]}>`))).toEqual([]);
    expect(Object.keys(TRANSITIONS)).toHaveLength(11);
  });

  test.each([
    ["a final output of 50 MB", { status: "succeeded", finalOutput: "x".repeat(50_000_000) }, ExecutionState.SUCCEEDED],
    [
      "a structured output of 1 MB",
      { status: "succeeded", structuredOutput: "x".repeat(1_000_000) },
      ExecutionState.FAILED,
    ],
  ] as const)("L11 %s ends as the contract says", async (_, outcome, state) => {
    const kit = await openKit({ providers: [provider(async () => outcome)] });
    const over = await kit.over((await kit.start()).id);
    expect(over.state).toBe(state);
    if (state === ExecutionState.FAILED) expect(over.error?.reason).toBe(FailureReason.OUTPUT_TOO_LARGE);
    else expect([over.finalOutput?.length, over.finalOutputTruncated]).toEqual([65_536, true]);
  });

  test("L11 a delta of 1 MB of 4-byte characters is split at code points and joined to a cut output", async () => {
    const text = "😀".repeat(250_000);
    const kit = await openKit({
      providers: [provider(async (context) => void (await context.emit({ case: "outputTextDelta", value: { text } })))],
    });
    const over = await kit.over((await kit.start()).id);
    const deltas = (await kit.events(over.id)).flatMap(({ payload }) =>
      payload.case === "outputTextDelta" ? [payload.value.text] : [],
    );
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.join("")).toBe(text);
    expect(Buffer.byteLength(over.finalOutput ?? "")).toBe(65_536);
    expect(over.finalOutputTruncated).toBe(true);
  });

  test("L11 an event of more than 256 KiB and an action of 1 MB throw inside the provider and are not latched", async () => {
    const thrown: unknown[] = [];
    const data = { blob: "x".repeat(300_000) };
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          thrown.push(
            await context.emit({ case: "providerEvent", value: { type: "acme.x", data } }).catch((e) => e.reason),
          );
          const title = "x".repeat(1_000_000);
          thrown.push(await context.requestAction({ key: "k", kind: 1, title }).catch((error) => error.reason));
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(thrown).toEqual([19, 1]);
    expect(over.state).toBe(ExecutionState.SUCCEEDED);
  });

  describe("L12 a failure runs the cleanup before run_failed", () => {
    const causes = {
      deadline: (context: ProviderContext) => aborted(context.signal),
      budget: async (context: ProviderContext) => {
        for (let call = 0; call < 3; call++) {
          await context.emit({ case: "modelCompleted", value: { model: "m", usage: { totalTokens: 5 } } });
        }
        await aborted(context.signal);
      },
      violation: async (context: ProviderContext) => {
        await context.emit({ case: "outputTextDelta", value: {} as never }).catch(() => undefined);
        await aborted(context.signal);
      },
    };
    const reasons = {
      deadline: FailureReason.DEADLINE_EXCEEDED,
      budget: FailureReason.BUDGET_EXHAUSTED,
      violation: FailureReason.PROVIDER_PROTOCOL_VIOLATION,
    };

    test.each(Object.keys(causes) as (keyof typeof causes)[])("%s", async (cause) => {
      const order: string[] = [];
      const cleanup = gate();
      const kit = await openKit({
        providers: [
          provider(
            async (context) => {
              await causes[cause](context);
              order.push("aborted");
            },
            {
              async cancel() {
                await cleanup.promise;
                order.push("cleaned");
                return { error: "a file was left" };
              },
            },
          ),
        ],
      });
      const { id } = await kit.start({ timeout: { seconds: 60n, nanos: 0 }, budgets: { maxModelCalls: 2 } });
      await kit.until(id, "run.started");
      await kit.fake.advance(cause === "deadline" ? 60_000 : 0);
      expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
      cleanup.resolve();
      const over = await kit.over(id);
      expect(over.error).toMatchObject({ reason: reasons[cause], cleanupError: "a file was left" });
      expect(order).toEqual(["aborted", "cleaned"]);
    });

    test.each(Object.keys(causes) as (keyof typeof causes)[])("%s, and a cancel during it wins", async (cause) => {
      const cleanup = gate();
      const entered = gate();
      let calls = 0;
      const kit = await openKit({
        providers: [
          provider((context) => causes[cause](context), {
            async cancel() {
              calls++;
              entered.resolve();
              await cleanup.promise;
              return undefined;
            },
          }),
        ],
      });
      const { id } = await kit.start({ timeout: { seconds: 60n, nanos: 0 }, budgets: { maxModelCalls: 2 } });
      await kit.until(id, "run.started");
      await kit.fake.advance(cause === "deadline" ? 60_000 : 0);
      await entered.promise;
      await kit.cancel(id, "changed my mind");
      cleanup.resolve();
      const over = await kit.over(id);
      expect(over).toMatchObject({ state: ExecutionState.CANCELLED, cancel: { reason: "changed my mind" } });
      expect(calls).toBe(1);
    });
  });

  test("a start that takes too long is PROVIDER_START_TIMEOUT, after its cleanup", async () => {
    let cleaned = false;
    const slow = provider(async () => undefined, {
      startTimeoutMs: 5_000,
      start: (context) => aborted(context.signal),
      async cancel() {
        cleaned = true;
        return undefined;
      },
    });
    const kit = await openKit({ providers: [slow] });
    const { id } = await kit.start();
    await kit.until(id, "run.starting");
    await kit.fake.advance(5_000);
    const over = await kit.over(id);
    expect(over.error?.reason).toBe(FailureReason.PROVIDER_START_TIMEOUT);
    expect(cleaned).toBe(true);
    expect(await kit.names(id)).toEqual(["run.queued", "run.starting", "run.started", "run.failed"]);
  });

  test("a deadline that passes in QUEUED fails without the provider", async () => {
    let calls = 0;
    const busy = provider(
      async (context) => {
        calls++;
        await aborted(context.signal);
      },
      { capacity: 1 },
    );
    const kit = await openKit({ providers: [busy] });
    const first = await kit.start();
    await kit.until(first.id, "run.started");
    const second = await kit.start({ timeout: { seconds: 1n, nanos: 0 } });
    await kit.fake.advance(1_000);
    expect((await kit.over(second.id)).error?.reason).toBe(FailureReason.DEADLINE_EXCEEDED);
    await kit.cancel(first.id, "", true);
    expect(calls).toBe(1);
  });

  test("usage is the sum of what model_completed and tool_call_started events say", async () => {
    const kit = await openKit();
    const over = await kit.over(
      (
        await kit.script([
          { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
          { tool_call: { id: "t1", name: "shell", kind: "execute", input: { command: "ls" }, output: "a" } },
          { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
        ])
      ).id,
    );
    expect(over.usage).toMatchObject({
      promptTokens: 4,
      completionTokens: 5,
      totalTokens: 9,
      modelCalls: 2,
      toolCalls: 1,
    });
  });

  test("an execution is conveyed with every event kind that its provider emits, in order", async () => {
    const emitted: ProviderEvent[] = [
      { case: "outputReasoningDelta", value: { text: "hm" } },
      { case: "planUpdated", value: { entries: [{ content: "a" }] } },
      { case: "toolCallStarted", value: { toolCallId: "1", name: "x" } },
      { case: "toolCallUpdated", value: { toolCallId: "1", title: "y" } },
      { case: "toolCallCompleted", value: { toolCallId: "1" } },
      { case: "outputTextDone", value: { text: "z", itemId: "i" } },
      { case: "providerEvent", value: { type: "acme.thing", data: { a: 1 } } },
    ];
    const kit = await openKit({ providers: [provider(async (context) => void (await context.emit(emitted)))] });
    const over = await kit.over((await kit.start()).id);
    const kinds = (await kit.events(over.id)).map((event: Event) => event.payload.case);
    expect(kinds.slice(3, -2)).toEqual(emitted.map((event) => event.case));
  });

  test("a provider without event.streaming that emits a delta breaks its manifest", async () => {
    const quiet = provider(
      async (context) => void (await context.emit({ case: "outputTextDelta", value: { text: "x" } })),
      {
        manifest: manifest("test", { "event.streaming": 4 }),
      },
    );
    const kit = await openKit({ providers: [quiet] });
    const over = await kit.over((await kit.start()).id);
    expect(over.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
  });

  test("WaitExecution leaves nothing behind when its time is over, and all who wait are told the end", async () => {
    const end = gate();
    const kit = await openKit({ providers: [provider(() => end.promise)] });
    const { id } = await kit.start();
    const signals: WeakRef<AbortSignal>[] = [];
    const wait = (timeoutMs: number) => {
      const { signal } = new AbortController();
      signals.push(new WeakRef(signal));
      return kit.runtime.waitExecution(CALLER, id, timeoutMs, signal);
    };
    const both = Promise.all([wait(60_000), wait(60_000)]);
    const waits = Array.from({ length: 200 }, () => wait(1_000));
    await kit.fake.advance(1_000);
    for (const { state } of await Promise.all(waits)) expect(state).toBe(ExecutionState.RUNNING);
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
    expect(signals.filter((signal) => signal.deref() !== undefined).length).toBeLessThan(20);
    end.resolve();
    for (const { state } of await both) expect(state).toBe(ExecutionState.SUCCEEDED);
  });
});
