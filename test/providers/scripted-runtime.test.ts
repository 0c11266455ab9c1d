import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import type { Provider } from "../../src/core/provider.js";
import type { Script, Step } from "../../src/providers/scripted/script.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { type LiveRun, type LiveRuntime, openLiveRuntime } from "../support/live-runtime.js";

let live: LiveRuntime;

beforeAll(async () => {
  const quick: Provider = { ...scriptedProvider(), cancelTimeoutMs: 50 };
  live = await openLiveRuntime({ providers: [quick] });
});

afterAll(() => live.close());

function start(script: Script | undefined, input = "hello"): Promise<LiveRun> {
  return live.start("scripted", input, script === undefined ? {} : { config: script as JsonObject });
}

const { PROVIDER_ERROR, PROVIDER_PROTOCOL_VIOLATION } = FailureReason;

describe("what fails on purpose fails as the contract says", () => {
  const failures: readonly (readonly [Step, FailureReason, RegExp])[] = [
    [{ fail: "no" }, PROVIDER_ERROR, /^no$/],
    [{ throw: "boom" }, PROVIDER_ERROR, /boom/],
    [{ throw: "" }, PROVIDER_ERROR, /./],
    [{ emit_reserved: "run.completed" }, PROVIDER_PROTOCOL_VIOLATION, /run/],
    [{ emit_reserved: "artifact.created" }, PROVIDER_PROTOCOL_VIOLATION, /artifact/],
    [{ duplicate_artifact: true }, PROVIDER_PROTOCOL_VIOLATION, /duplicate/],
    [{ artifact: { media_type: "text/plain" } }, PROVIDER_PROTOCOL_VIOLATION, /name/],
    [{ return_open_action: true }, PROVIDER_PROTOCOL_VIOLATION, /open/],
  ];

  test.each(failures)("%j", async (step, reason, message) => {
    const execution = await (await start({ steps: [{ text: "before" }, step, { text: "after" }] })).end();
    expect(execution).toMatchObject({
      state: ExecutionState.FAILED,
      error: { reason, message: expect.stringMatching(message) },
    });
  });
});

test("an unknown key anywhere in the config is refused before anything is created", async () => {
  const steps = [{ text: "a" }, { txt: "b" }] as unknown as readonly Step[];
  await expect(start({ steps })).rejects.toThrow(/config.*steps.*1.*txt/);
});

test("text that comes after the terminal event changes nothing", async () => {
  const run = await start({ steps: [{ emit_after_end: true }, { text: "x" }] });
  expect(await run.end()).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "x" });
  expect(run.events.at(-1)?.payload.case).toBe("runCompleted");
  expect((await run.get()).lastSequence).toBe(run.events.length);
});

test("a flood of 10,000 events arrives whole and in order", async () => {
  const run = await start({ steps: [{ flood: { count: 10_000, bytes: 16 } }] });
  await run.end();
  const numbers = run.all("outputTextDelta").map(({ text }) => Number.parseInt(text, 10));
  expect(numbers).toEqual(Array.from({ length: 10_000 }, (_, index) => index));
});

test("outputs, usage, a tool call and an artifact are the execution's", async () => {
  const run = await start({
    steps: [
      { tool_call: { name: "t", output: { ok: true } } },
      { artifact: { name: "a.txt", media_type: "text/plain" } },
      { usage: { prompt_tokens: 2, completion_tokens: 3 } },
      { text: "streamed" },
    ],
    final_output: "final",
    structured_output: { n: 1 },
  });
  const execution = await run.end();
  expect(execution).toMatchObject({ finalOutput: "final", usage: { totalTokens: 5, modelCalls: 1, toolCalls: 1 } });
  expect(run.all("artifactCreated").map(({ artifact }) => artifact?.id)).toEqual(["artifact-1"]);
});

test("a follow_up and a replace run as turns that echo", async () => {
  const run = await start({ steps: [{ approval: { title: "Wait?" } }, { text: "scripted" }] });
  const action = await run.action();
  await run.send("later");
  await run.respond(action, { approved: true });
  expect(await run.end()).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "later", turn: 2 });
  expect([run.text(1), run.text(2)]).toEqual(["scripted", "later"]);

  const replaced = await start({ steps: [{ approval: { title: "Wait?" } }] });
  await replaced.action();
  await replaced.send("instead", InputMode.REPLACE);
  expect(await replaced.end()).toMatchObject({ finalOutput: "instead", turn: 2 });
});

describe("cancellation", () => {
  test("ends a sleep at once", async () => {
    const run = await start({ steps: [{ text: "x" }, { sleep_ms: 60_000 }] });
    await run.until("text", (one) => one.text() === "x");
    await run.cancel();
    expect(await run.end()).toMatchObject({ state: ExecutionState.CANCELLED, cancel: { cleanupError: "" } });
  });

  test("of a script that ignores it and succeeds is CANCELLED", async () => {
    const run = await start({ steps: [{ ignore_abort: true }, { text: "x" }, { sleep_ms: 20 }, { text: "y" }] });
    await run.until("text", (one) => one.text() === "x");
    await run.cancel();
    expect((await run.end()).state).toBe(ExecutionState.CANCELLED);
  });

  test("with a hook that hangs ends within its bound, and says so", async () => {
    const run = await start({ steps: [{ hang_cancel: true }, { text: "x" }, { sleep_ms: 60_000 }] });
    await run.until("text", (one) => one.text() === "x");
    await run.cancel();
    const execution = await run.end();
    expect(execution).toMatchObject({
      state: ExecutionState.CANCELLED,
      cancel: { cleanupError: expect.stringMatching(/./) },
    });
  });
});

test("a script goes on behind what was stored when the runtime stopped", async () => {
  const store = openMemoryStore();
  const first = await openLiveRuntime({ store, providers: [scriptedProvider()] });
  const steps = [
    { text: { text: "one two three", pace_ms: 1 } },
    { approval: { key: "k" } },
    { await_steer: true },
    { text: " end" },
  ];
  const before = await first.start("scripted", "in", { config: { steps } });
  const action = await before.action();
  await first.close();

  const second = await openLiveRuntime({ store, providers: [scriptedProvider()] });
  const after = await second.follow(before.id);
  await after.until("the next attempt", (run) => run.all("runResumed").length === 1);
  await after.respond(action, { approved: true });
  await after.send(" steered", InputMode.STEER);
  expect(await after.end()).toMatchObject({
    state: ExecutionState.SUCCEEDED,
    attempt: 2,
    finalOutput: "one two three steered end",
  });
  expect(after.all("actionRequired")).toHaveLength(1);
  expect(after.all("outputTextDelta").map(({ text }) => text)).toEqual(["one ", "two ", "three", " steered", " end"]);
  await second.close();
  await store.close();
});
