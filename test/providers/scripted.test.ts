import { readFileSync } from "node:fs";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { ExecutionSchema } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Clock } from "../../src/core/clock.js";
import type {
  ActionAnswer,
  ActionInit,
  ProviderContext,
  ProviderEvent,
  ResumeInfo,
  TurnOutcome,
} from "../../src/core/provider.js";
import { type Script, STEP_KINDS } from "../../src/providers/scripted/script.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";

/** What one attempt did, and what it left for the next. */
interface Attempt {
  readonly outcome: TurnOutcome | Error;
  readonly events: readonly (ProviderEvent | { readonly case: "artifact"; readonly value: { readonly id?: string } })[];
  readonly asked: readonly ActionInit[];
  /** The state that was stored with the last event. */
  readonly state: Uint8Array | undefined;
}

interface Situation {
  readonly input?: string;
  readonly turn?: number;
  readonly answers?: Readonly<Record<string, Partial<ActionAnswer>>>;
  readonly steers?: readonly string[];
  readonly resume?: Partial<ResumeInfo>;
  readonly clock?: Clock;
  readonly abort?: AbortController;
  /** The store fails at this event, from 0, as it does when the process is killed there. */
  readonly killAt?: number;
}

/** Runs one turn of the scripted provider against a context that only records. */
async function attempt(script: Script, situation: Situation = {}): Promise<Attempt> {
  const events: Attempt["events"][number][] = [];
  const asked: ActionInit[] = [];
  let saved: Uint8Array | undefined;
  let state = situation.resume?.state;
  const store = (added: readonly Attempt["events"][number][]): void => {
    if (events.length + added.length > (situation.killAt ?? Number.POSITIVE_INFINITY)) throw new Error("killed");
    events.push(...added);
    state = saved ?? state;
  };
  const context: ProviderContext = {
    execution: create(ExecutionSchema, { id: "exe_1" }),
    attempt: situation.resume?.attempt ?? 1,
    turn: situation.turn ?? 1,
    input: create(ContentSchema, { text: situation.input ?? "hello" }),
    config: script as JsonObject,
    signal: (situation.abort ?? new AbortController()).signal,
    resume: situation.resume && {
      attempt: 2,
      turn: 1,
      state,
      lastSequence: 9,
      mark: 0,
      answers: [],
      inputs: [],
      ...situation.resume,
    },
    reattached: false,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    history: async () => [],
    emit: async (added) => store(Array.isArray(added) ? added : [added as ProviderEvent]),
    async requestAction(request) {
      asked.push(request);
      const answer = situation.answers?.[request.key];
      if (answer === undefined) throw new Error("killed");
      const nothing = { optionId: "", value: undefined, metadata: undefined, responder: undefined };
      return {
        actionId: "act_1",
        key: request.key,
        approved: false,
        expired: false,
        delivered: false,
        ...nothing,
        ...answer,
      };
    },
    async *steers() {
      yield* (situation.steers ?? []).map((text) => create(ContentSchema, { text }));
    },
    artifact: async (descriptor) => store([{ case: "artifact", value: descriptor }]),
    saveResumeState: (next) => {
      saved = next;
    },
    scratchDir: async () => "/nowhere",
  };
  const provider = scriptedProvider(situation.clock === undefined ? {} : { clock: situation.clock });
  const outcome = await provider.run(context).catch((error: Error) => error);
  return { outcome, events, asked, state };
}

/** A clock whose timers fire at once, and that adds up what they would have taken. */
function hurriedClock(): Clock & { readonly elapsedMs: () => number } {
  let nowMs = 0;
  return {
    now: () => nowMs,
    after(delayMs, run) {
      nowMs += delayMs;
      queueMicrotask(run);
      return () => undefined;
    },
    elapsedMs: () => nowMs,
  };
}

/** A clock that aborts as soon as somebody waits, and whose timers then fire or never do. */
function abortingClock(abort: AbortController, fires: boolean): Clock {
  return {
    now: () => 0,
    after(_, run) {
      queueMicrotask(() => {
        abort.abort();
        if (fires) run();
      });
      return () => undefined;
    },
  };
}

function textOf({ events }: Attempt): string {
  return events.map((event) => (event.case === "outputTextDelta" ? event.value.text : "")).join("");
}

describe("without a script", () => {
  test.each(["hello there  world\n", " leading", "one", "\n\t ", "héllo 👋🏽 wörld"])(
    "%j is echoed word by word",
    async (input) => {
      const echo = await attempt({}, { input });
      expect(textOf(echo)).toBe(input);
      expect(echo.events).toHaveLength(
        input.trim() === "" ? 1 : input.trim().split(/\s+/).length + (/^\s/.test(input) ? 1 : 0),
      );
      expect(echo.outcome).toEqual({ status: "succeeded", finalOutput: input });
    },
  );

  test("an empty input is an empty output without an event", async () => {
    expect(await attempt({}, { input: "" })).toMatchObject({ events: [], outcome: { finalOutput: "" } });
  });

  test("a turn after the script echoes its input", async () => {
    const second = await attempt({ steps: [{ text: "scripted" }], final_output: "x" }, { turn: 2, input: "again" });
    expect(textOf(second)).toBe("again");
    expect(second.outcome).toEqual({ status: "succeeded", finalOutput: "again" });
  });
});

describe("each kind of step", () => {
  test("text is one delta, and the final output is left to the joined text", async () => {
    const played = await attempt({ steps: [{ text: "a b" }, { text: { text: " c d" } }] });
    expect(played.events.map(({ value }) => value)).toEqual([{ text: "a b" }, { text: " c d" }]);
    expect(played.outcome).toEqual({ status: "succeeded" });
  });

  test("paced text is one delta a word, with the pace before each but the first", async () => {
    const clock = hurriedClock();
    const played = await attempt({ steps: [{ text: { text: "one two three", pace_ms: 40 } }] }, { clock });
    expect(played.events.map(({ value }) => value)).toEqual([{ text: "one " }, { text: "two " }, { text: "three" }]);
    expect(clock.elapsedMs()).toBe(80);
  });

  test("reasoning, usage and a tool call are events of their kinds", async () => {
    const call = { id: "t1", name: "read", kind: "read", input: { path: "a" }, output: ["x"], error: "late" };
    const usage = { prompt_tokens: 3, completion_tokens: 4, cached_tokens: 1, cost: { currency: "USD", micros: 15 } };
    const { events } = await attempt({ steps: [{ reasoning: "hm" }, { tool_call: call }, { usage }] });
    expect(events.map((event) => event.case)).toEqual([
      "outputReasoningDelta",
      "toolCallStarted",
      "toolCallCompleted",
      "modelCompleted",
    ]);
    expect(events[1]?.value).toMatchObject({
      toolCallId: "t1",
      name: "read",
      input: { kind: { case: "structValue" } },
    });
    expect(events[2]?.value).toMatchObject({
      toolCallId: "t1",
      error: "late",
      output: { kind: { case: "listValue" } },
    });
    expect(events[3]?.value).toMatchObject({ usage: { totalTokens: 7, cachedTokens: 1, cost: { micros: 15n } } });
  });

  test.each([
    [{ approved: true }, {}, { status: "succeeded" }],
    [{ approved: false }, {}, { status: "failed", message: 'the approval "k" was denied' }],
    [{ expired: true }, {}, { status: "failed", message: 'the approval "k" was denied' }],
    [{ approved: false }, { if_denied: "continue" }, { status: "succeeded" }],
  ] as const)("an approval answered %j with %j ends %j", async (answer, more, outcome) => {
    const options = [{ id: "yes", label: "Yes", kind: "ACTION_OPTION_KIND_ALLOW_ONCE" }];
    const approval = { key: "k", title: "Go?", payload: { a: 1 }, options, ...more };
    const played = await attempt({ steps: [{ approval }] }, { answers: { k: answer } });
    expect(played.outcome).toEqual(outcome);
    expect(played.asked).toMatchObject([
      { key: "k", title: "Go?", payload: { a: 1 }, options: [{ id: "yes", kind: 1 }] },
    ]);
  });

  test("the answer to an input becomes text", async () => {
    const steps = [{ input: { key: "name", schema: { type: "string" } } }, { input: {} }];
    const answers = { name: { value: "Ada" }, "input-1": { value: { n: 1 } } };
    const played = await attempt({ steps }, { answers });
    expect(textOf(played)).toBe('Ada{"n":1}');
    expect(played.asked[0]).toMatchObject({ inputSchema: { type: "string" } });
  });

  test("an artifact is announced as it is written, also without what it needs", async () => {
    const artifact = { id: "a", name: "a.txt", media_type: "text/plain", uri: "file:///a", metadata: { x: 1 } };
    const { events } = await attempt({ steps: [{ artifact }, { artifact: {} }] });
    expect(events.map(({ value }) => value)).toEqual([
      { id: "a", name: "a.txt", mediaType: "text/plain", uri: "file:///a", metadata: { x: 1 } },
      { id: "artifact-1", name: "", mediaType: "" },
    ]);
  });

  test("steers are echoed in order", async () => {
    const steps = [{ await_steer: true }, { text: "," }, { await_steer: true }] as const;
    expect(textOf(await attempt({ steps }, { steers: ["left", "right", "never"] }))).toBe("left,right");
  });

  test("fail ends as failed, throw throws, and nothing after them is played", async () => {
    expect((await attempt({ steps: [{ fail: "no" }, { text: "x" }] })).outcome).toEqual({
      status: "failed",
      message: "no",
    });
    expect((await attempt({ steps: [{ throw: "boom" }, { text: "x" }] })).outcome).toEqual(new Error("boom"));
  });

  test("a flood is so many deltas of so many bytes", async () => {
    const { events } = await attempt({ steps: [{ flood: { count: 1_000, bytes: 200 } }] });
    expect(events).toHaveLength(1_000);
    expect(new Set(events.map((event) => (event.case === "outputTextDelta" ? event.value.text?.length : 0)))).toEqual(
      new Set([200]),
    );
    expect(events[999]?.value).toMatchObject({ text: expect.stringMatching(/^999 x+$/) });
  });

  test("the outputs of the script are those of the turn", async () => {
    const played = await attempt({ steps: [{ text: "x" }], final_output: "done", structured_output: null });
    expect(played.outcome).toEqual({ status: "succeeded", finalOutput: "done", structuredOutput: null });
  });
});

describe("an abort", () => {
  test("ends a sleep, and the turn", async () => {
    const abort = new AbortController();
    const script: Script = { steps: [{ sleep_ms: 60_000 }, { text: "x" }] };
    const played = await attempt(script, { abort, clock: abortingClock(abort, false) });
    expect(played).toMatchObject({ events: [], outcome: { status: "cancelled" } });
  });

  test("is not heeded after ignore_abort, nor by an attempt that resumes behind it", async () => {
    const script: Script = { steps: [{ ignore_abort: true }, { text: "x" }, { sleep_ms: 5 }, { text: "y" }] };
    const abort = new AbortController();
    abort.abort();
    const early = new AbortController();
    const played = await attempt(script, { abort: early, clock: abortingClock(early, true) });
    expect(played).toMatchObject({ outcome: { status: "succeeded" } });
    expect(textOf(played)).toBe("xy");
    const killed = await attempt(script, { clock: hurriedClock(), killAt: 1 });
    expect(textOf(await attempt(script, { abort, clock: hurriedClock(), resume: { state: killed.state } }))).toBe("y");
  });
});

test("killed at any event, a resumed attempt emits exactly the rest", async () => {
  const script: Script = {
    steps: [
      { text: { text: "one two three", pace_ms: 1 } },
      { tool_call: { name: "t" } },
      { approval: { key: "k" } },
      { input: { key: "i" } },
      { await_steer: true },
      { flood: { count: 600, bytes: 20 } },
      { artifact: { id: "a", name: "a", media_type: "text/plain" } },
      { usage: { prompt_tokens: 1 } },
      { text: "end" },
    ],
  };
  const answers = { k: { approved: true }, i: { value: "v" } };
  const whole = await attempt(script, { answers, steers: ["s"], clock: hurriedClock() });
  expect(whole.outcome).toEqual({ status: "succeeded" });
  // Of the flood's deltas, which are alike, every 23rd.
  const last = whole.events.length - 1;
  const kills = Array.from(whole.events.keys()).filter((at) => at < 20 || at > last - 5 || at % 23 === 0);
  for (const killAt of kills) {
    const first = await attempt(script, { answers, steers: ["s"], clock: hurriedClock(), killAt });
    // The steer was stored as consumed before it was handed over, so the resumed attempt is only told of it.
    const consumed = first.events.length >= 6;
    const inputs = consumed ? [{ inputId: "inp_1", content: create(ContentSchema, { text: "s" }) }] : [];
    const resume = { state: first.state, inputs };
    const rest = await attempt(script, { answers, steers: consumed ? [] : ["s"], clock: hurriedClock(), resume });
    expect([...first.events, ...rest.events]).toEqual(whole.events);
    expect(rest.outcome).toEqual({ status: "succeeded" });
  }
});

describe("the config's schema", () => {
  const { configSchema } = scriptedProvider().manifest;
  const validate = new Ajv({ allowUnionTypes: true }).compile(configSchema ?? {});

  test.each([
    {},
    { steps: [] },
    {
      steps: [
        { text: { text: "a", pace_ms: 0 } },
        { fail: "" },
        { emit_reserved: "run.completed" },
        { hang_cancel: true },
      ],
    },
  ])("takes %j", (config) => {
    expect(validate(config)).toBe(true);
  });

  test.each([
    { step: [] },
    { steps: [{}] },
    { steps: [{ say: "a" }] },
    { steps: [{ text: "a", reasoning: "b" }] },
    { steps: [{ text: "" }] },
    { steps: [{ text: { text: "a", pace: 1 } }] },
    { steps: [{ tool_call: { id: "a" } }] },
    { steps: [{ approval: { if_denied: "stop" } }] },
    { steps: [{ ignore_abort: false }] },
    { steps: [{ flood: { count: 1 } }] },
    { steps: [{ emit_reserved: "output.text.delta" }] },
    { steps: [{ usage: { tokens: 1 } }] },
    { steps: [{ sleep_ms: -1 }] },
  ])("refuses %j", (config) => {
    expect(validate(config)).toBe(false);
  });
});

test("continuity is UNSUPPORTED, and EMULATED where the settings say so", () => {
  const levels = [scriptedProvider(), scriptedProvider({ continuity: true })].map(
    ({ manifest }) => manifest.capabilities["conversation.continuity"],
  );
  expect(levels).toEqual([SupportLevel.UNSUPPORTED, SupportLevel.EMULATED]);
});

test("the page on the provider has a line for every kind of step, and no other", () => {
  const page = readFileSync(new URL("../../docs/providers/scripted.md", import.meta.url), "utf8");
  const documented = new Set([...page.matchAll(/^\| `\{"(\w+)"/gm)].map(([, kind]) => kind));
  expect([...documented].sort()).toEqual([...STEP_KINDS].sort());
});
