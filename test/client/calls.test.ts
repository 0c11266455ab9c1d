import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { createClientFor } from "../../src/client/client.js";
import { HarnessRpcError } from "../../src/client/errors.js";
import { createHarnessClient } from "../../src/client/node.js";
import { respond } from "../../src/client/respond.js";
import { callPatiently, DEFAULT_RETRY } from "../../src/client/retry.js";
import type { ClientSettingsInit } from "../../src/client/settings.js";
import { FakeRuntime } from "./fake-runtime.js";
import { hastyClock, manualClock, settled } from "./manual-clock.js";
import { refuse } from "./refuse.js";

const CUT = new ConnectError("cut", Code.Unavailable);
const START = { providerId: "fake", input: { text: "hi" } };

function connect(init: ClientSettingsInit = {}) {
  const runtime = new FakeRuntime();
  const clock = hastyClock();
  const client = createClientFor(runtime.transport(), true, { clock, random: () => 0.5, ...init });
  return { runtime, client, clock };
}

describe("idempotency keys", () => {
  test("make a start and a send whose answers were lost safe to send again", async () => {
    const { runtime, client } = connect();
    runtime.faults.push({ method: "startExecution", when: "after", error: CUT });
    runtime.faults.push({ method: "sendInput", when: "after", error: CUT });
    const { execution } = await client.executions.startExecution(START);
    const input = { executionId: execution?.id ?? "", input: { text: "more" }, mode: InputMode.FOLLOW_UP };
    await client.executions.sendInput(input);
    expect(runtime.executions.size).toBe(1);
    expect(runtime.find("exe_1").events.filter(({ payload }) => payload.case === "inputAccepted")).toHaveLength(1);
    expect(runtime.calls).toEqual(["startExecution", "startExecution", "sendInput", "sendInput"]);
  });

  test("are new for each request, and the caller's own is kept", async () => {
    const { runtime, client } = connect();
    await client.executions.startExecution(START);
    await client.executions.startExecution(START);
    await client.executions.startExecution({ ...START, idempotencyKey: "mine" });
    await client.executions.startExecution({ ...START, idempotencyKey: "mine" });
    expect(runtime.executions.size).toBe(3);
  });

  test("can be left out, and then a start is sent once", async () => {
    const { runtime, client } = connect({ newIdempotencyKey: false });
    runtime.faults.push({ method: "startExecution", when: "before", error: CUT });
    await expect(client.executions.startExecution(START)).rejects.toMatchObject({ code: Code.Unavailable });
    expect(runtime.calls).toEqual(["startExecution"]);
  });
});

describe("a call", () => {
  test("that is safe to repeat is tried again with full jitter until the time is over", async () => {
    const { runtime, client, clock } = connect({ retry: { callGiveUpMs: 1_000 } });
    for (let i = 0; i < 20; i++) runtime.faults.push({ method: "getExecution", when: "before", error: CUT });
    await expect(client.executions.getExecution({ executionId: "exe_1" })).rejects.toBeInstanceOf(HarnessRpcError);
    expect(clock.waits).toEqual([50, 100, 200, 400]);
  });

  test("that waited long and is cut, or meets a drain, is tried again, and its patience begins with the failure", async () => {
    const clock = manualClock();
    const outcomes = [
      { afterMs: 60_000, error: new ConnectError("http/2 stream closed", Code.Canceled) },
      { afterMs: 0, error: refuse(Code.Unavailable, "SERVER_DRAINING") },
      { afterMs: 60_000, error: CUT },
      { afterMs: 0, error: CUT },
    ];
    const seen: number[] = [];
    const settings = { retry: { ...DEFAULT_RETRY, callGiveUpMs: 200 }, clock, random: () => 0.5 };
    const call = async (): Promise<string> => {
      seen.push(clock.now());
      const outcome = outcomes.shift();
      if (outcome === undefined) return "over";
      await clock.advance(outcome.afterMs);
      throw outcome.error;
    };
    const result = callPatiently(call, settings, { waits: true });
    for (let turn = 0; turn < 12; turn++) {
      await settled();
      await clock.advance(clock.pending()[0] ?? 0);
    }
    expect(await result).toBe("over");
    expect(seen).toEqual([0, 60_050, 60_150, 120_200, 120_300]);
  });

  test("that its caller gave up is not tried again", async () => {
    const gone = AbortSignal.abort();
    let tries = 0;
    const call = async (): Promise<never> => {
      tries++;
      throw new ConnectError("http/2 stream closed", Code.Canceled);
    };
    const settings = { retry: DEFAULT_RETRY, clock: hastyClock(), random: () => 0.5 };
    await expect(callPatiently(call, settings, { signal: gone, waits: true })).rejects.toMatchObject({
      code: Code.Canceled,
    });
    expect(tries).toBe(1);
  });

  test("that the server refuses is not, and says why", async () => {
    const { runtime, client } = connect();
    await expect(client.executions.getExecution({ executionId: "exe_9" })).rejects.toMatchObject({
      name: "HarnessRpcError",
      reason: ErrorReason.NOT_FOUND,
      metadata: { resource: "execution", id: "exe_9" },
    });
    expect(runtime.calls).toEqual(["getExecution"]);
  });

  test("has as long as it waits for, and 30 s more; one that waits for the end of a cancel has no limit", async () => {
    const { runtime, client } = connect();
    runtime.start();
    const limitOf = async (call: Promise<unknown>) => {
      await call;
      return runtime.headers.get("connect-timeout-ms");
    };
    const executionId = "exe_1";
    const { executions } = client;
    expect(await limitOf(executions.getExecution({ executionId }))).toBe("30000");
    expect(await limitOf(executions.getExecution({ executionId }, { timeoutMs: 500 }))).toBe("500");
    expect(await limitOf(executions.waitExecution({ executionId }))).toBe("60000");
    expect(await limitOf(executions.waitExecution({ executionId, timeout: durationFromMs(600_000) }))).toBe("630000");
    expect(await limitOf(executions.cancelExecution({ executionId, wait: true }))).toBeNull();
  });

  test("bears the token that is asked for each time", async () => {
    let count = 0;
    const seen: (string | null)[] = [];
    const client = createHarnessClient({
      baseUrl: "http://127.0.0.1:1",
      token: () => `t${++count}`,
      retry: { callGiveUpMs: 0 },
      interceptors: [
        (next) => async (request) => {
          try {
            return await next(request);
          } finally {
            seen.push(request.header.get("Authorization"));
          }
        },
      ],
    });
    await expect(client.runtime.describeRuntime({})).rejects.toMatchObject({ code: Code.Unavailable });
    await expect(client.runtime.describeRuntime({})).rejects.toMatchObject({ code: Code.Unavailable });
    expect(seen).toEqual(["Bearer t1", "Bearer t2"]);
  });
});

describe("an answer", () => {
  const name = { executionId: "exe_1", actionId: "act_1" };

  test("whose receipt was lost counts as accepted when the server has the same one", async () => {
    const { runtime, client } = connect();
    runtime.start();
    runtime.ask("exe_1", "act_1");
    runtime.faults.push({ method: "respondAction", when: "after", error: CUT });
    expect(await respond(client, name, { approved: true })).toMatchObject({ id: "act_1", approved: true });
    expect(runtime.calls).toEqual(["respondAction", "respondAction", "getAction"]);
  });

  test("A04 that comes second is told who was first", async () => {
    const { runtime, client } = connect();
    runtime.start();
    runtime.ask("exe_1", "act_1");
    await respond(client, name, { approved: false });
    await expect(respond(client, name, { approved: false })).rejects.toMatchObject({
      reason: ErrorReason.ACTION_ALREADY_RESOLVED,
      metadata: { responder: "u", approved: "false" },
    });
  });

  test("that differs from the accepted one is refused, also after a failure of the network", async () => {
    const { runtime, client } = connect();
    runtime.start();
    runtime.ask("exe_1", "act_1");
    await respond(client, name, { approved: false });
    runtime.faults.push({ method: "respondAction", when: "before", error: CUT });
    await expect(respond(client, name, { approved: true })).rejects.toMatchObject({
      reason: ErrorReason.ACTION_ALREADY_RESOLVED,
    });
  });

  test("that the server refuses is not sent again", async () => {
    const { runtime, client } = connect();
    runtime.faults.push({
      method: "respondAction",
      when: "before",
      error: refuse(Code.InvalidArgument, "VALIDATION_ERROR"),
    });
    await expect(respond(client, name, {})).rejects.toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    expect(runtime.calls).toEqual(["respondAction"]);
  });
});
