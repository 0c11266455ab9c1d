import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { attach } from "../../src/client/attach.js";
import { createClientFor } from "../../src/client/client.js";
import { FakeRuntime } from "./fake-runtime.js";
import { sequencesOf } from "./logs.js";
import { hastyClock, settled } from "./manual-clock.js";

const START = { start: { providerId: "fake", input: { text: "hi" } } };

describe.each([
  ["over one stream", true],
  ["by unary calls and a server stream", false],
])("attached %s", (_, bidi) => {
  function connect() {
    const runtime = new FakeRuntime();
    return { runtime, client: createClientFor(runtime.transport(), bidi, { clock: hastyClock() }) };
  }

  test("to a start: the snapshot, then every event through the terminal one", async () => {
    const { runtime, client } = connect();
    const attachment = await attach(client, START);
    expect(attachment.snapshot).toMatchObject({ id: "exe_1", state: ExecutionState.QUEUED });
    runtime.say("exe_1", "a");
    runtime.succeed("exe_1");
    expect(sequencesOf(await Array.fromAsync(attachment))).toEqual([1, 2, 3]);
  });

  test("to an execution: only what follows the cursor, and A01 its open actions", async () => {
    const { runtime, client } = connect();
    runtime.start();
    runtime.ask("exe_1", "act_1");
    const attachment = await attach(client, { executionId: "exe_1" }, { afterSequence: 1 });
    expect(attachment.snapshot.openActions).toMatchObject([{ id: "act_1" }]);
    expect(await attachment.respond("act_1", { approved: true })).toMatchObject({ id: "act_1", approved: true });
    runtime.succeed("exe_1");
    expect(sequencesOf(await Array.fromAsync(attachment))).toEqual([2, 3, 4]);
  });

  test("sends, pings and cancels, and is told what became of each", async () => {
    const { runtime, client } = connect();
    const attachment = await attach(client, START);
    await attachment.ping();
    const sent = await attachment.sendInput({ text: "more" }, InputMode.FOLLOW_UP);
    expect(sent).toMatchObject({ inputId: "inp_1", sequence: 2 });
    expect((await attachment.cancel("enough")).id).toBe("exe_1");
    const types = (await Array.fromAsync(attachment)).map(({ payload }) => payload.case);
    expect(types).toEqual(["runQueued", "inputAccepted", "runCancelling", "runCancelled"]);
    expect(runtime.calls.some((call) => call.startsWith("command"))).toBe(bidi);
  });

  test("is told that a command was refused, and the events go on", async () => {
    const { runtime, client } = connect();
    runtime.start();
    runtime.succeed("exe_1");
    const attachment = await attach(client, { executionId: "exe_1" });
    await expect(attachment.sendInput({ text: "late" }, InputMode.STEER)).rejects.toMatchObject({
      name: "HarnessRpcError",
      reason: ErrorReason.INVALID_STATE,
    });
    expect(sequencesOf(await Array.fromAsync(attachment))).toEqual([1, 2]);
    await expect(attachment.sendInput({ text: "later" }, InputMode.STEER)).rejects.toMatchObject({
      reason: ErrorReason.INVALID_STATE,
    });
  });

  test("R05 goes on through cuts: no event is lost or doubled, and an input is accepted once", async () => {
    const { runtime, client } = connect();
    runtime.cuts.push(1, 1, 0, 0, 2);
    const attachment = await attach(client, START);
    runtime.say("exe_1", "a");
    await settled();
    const sent = attachment.sendInput({ text: "more" }, InputMode.FOLLOW_UP);
    runtime.say("exe_1", "b");
    await sent;
    runtime.succeed("exe_1");
    const events = await Array.fromAsync(attachment);
    expect(sequencesOf(events)).toEqual([1, 2, 3, 4, 5]);
    expect(events.filter(({ payload }) => payload.case === "inputAccepted")).toHaveLength(1);
    expect(runtime.executions.size).toBe(1);
  });

  test("fails with what the server refuses", async () => {
    const { client } = connect();
    await expect(attach(client, { executionId: "exe_9" })).rejects.toMatchObject({ reason: ErrorReason.NOT_FOUND });
  });

  test("C06 closing it ends the events and the commands, and cancels nothing", async () => {
    const { runtime, client } = connect();
    const attachment = await attach(client, START);
    const events = Array.fromAsync(attachment);
    await settled();
    attachment.close();
    await expect(events).rejects.toThrow();
    await expect(attachment.ping()).rejects.toMatchObject({ code: Code.Canceled });
    expect(runtime.find("exe_1").execution.state).toBe(ExecutionState.QUEUED);
  });

  test("the answer to a command comes also when nobody reads the events", async () => {
    const { runtime, client } = connect();
    const attachment = await attach(client, START);
    for (let i = 0; i < 100; i++) {
      runtime.say("exe_1", String(i));
      await settled();
    }
    await attachment.sendInput({ text: "more" }, InputMode.STEER);
    runtime.succeed("exe_1");
    expect(await Array.fromAsync(attachment)).toHaveLength(103);
  });
});

test("a start that is cut before its first event makes one execution all the same", async () => {
  const runtime = new FakeRuntime();
  const client = createClientFor(runtime.transport(), true, { clock: hastyClock() });
  runtime.cuts.push(0, 0);
  const attachment = await attach(client, START);
  runtime.succeed("exe_1");
  await Array.fromAsync(attachment);
  expect(runtime.executions.size).toBe(1);
});
