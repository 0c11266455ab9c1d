import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { createHarnessClient, followEvents, type HarnessClient, reasonOf, respond } from "../../../src/client.js";
import { until } from "../../support/processes.js";
import { openProxy } from "../../support/proxy.js";
import { type BuiltServer, startBuiltServer } from "../wire/built-server.js";
import { PROGRAMS, ProviderProcess, type ProviderProgram } from "./provider-process.js";

const WHOLE_PLAN = "1. look around 2. sort what is there 3. throw away the rest ";
const rounds = process.env["SOAK"] === "1" ? 50 : 3;
const cuts = process.env["SOAK"] === "1" ? 1_000 : 25;

/** Longer than a server takes to start again on a machine that is busy. */
const GRACE_SECONDS = 20;

let server: BuiltServer;
let client: HarnessClient;
const running: ProviderProcess[] = [];

beforeAll(async () => {
  server = await startBuiltServer("--log-level", "warn", "--set", `providers.remote.grace=${GRACE_SECONDS}s`);
  client = createHarnessClient({ baseUrl: server.url, retry: { callGiveUpMs: 60_000 } });
}, 60_000);
afterEach(async () => {
  await Promise.all(running.splice(0).map((provider) => provider.kill()));
});
afterAll(async () => server?.close());

/** Starts the program and waits until the runtime has it. */
async function provide(program: ProviderProgram, port = server.port): Promise<ProviderProcess> {
  const provider = new ProviderProcess(program, port);
  running.push(provider);
  await until(`${program.providerId} is available`, () => isAvailable(program), 30_000);
  return provider;
}

async function isAvailable({ providerId }: ProviderProgram): Promise<boolean> {
  const { provider } = await client.runtime.getProvider({ providerId }).catch(() => ({ provider: undefined }));
  return provider?.available ?? false;
}

/** Starts an execution, once the provider is there to take it. */
async function start(program: ProviderProgram, config: JsonObject): Promise<string> {
  const { providerId } = program;
  for (;;) {
    try {
      const { execution } = await client.executions.startExecution({ providerId, config, input: { text: "tidy" } });
      return execution?.id ?? "";
    } catch (error) {
      if (reasonOf(error) !== ErrorReason.PROVIDER_UNAVAILABLE) throw error;
      await until(`${providerId} is available again`, () => isAvailable(program));
    }
  }
}

/** Resolves with the log as far as the first event of a kind, or with all of it. */
async function log(executionId: string, until?: Event["payload"]["case"]): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of followEvents(client, { executionId })) {
    events.push(event);
    if (event.payload.case === until) break;
  }
  return events;
}

/** The text of the log, once it is whole: the follower has seen that no sequence is missing. */
async function textOf(executionId: string): Promise<string> {
  const texts = (await log(executionId)).map(({ payload }) => {
    return payload.case === "outputTextDelta" ? payload.value.text : "";
  });
  return texts.join("");
}

async function get(executionId: string) {
  const { execution } = await client.executions.getExecution({ executionId });
  if (execution === undefined) throw new Error("no execution");
  return execution;
}

describe.each(PROGRAMS)("a provider in $language", (program) => {
  test("runs executions: text, an approval, steers, a cancel", async () => {
    await provide(program);
    expect(await textOf(await start(program, { pace: 0.01 }))).toBe(WHOLE_PLAN);

    const asking = await start(program, { way: program.toolWay });
    const { payload } = (await log(asking, "actionRequired")).at(-1) as Event;
    const actionId = payload.case === "actionRequired" ? (payload.value.action?.id ?? "") : "";
    await respond(client, { executionId: asking, actionId }, { approved: true });
    expect(await textOf(asking)).toBe("tidy: done");

    const chat = await start(program, { way: "chat" });
    await log(chat, "runStarted");
    for (const text of ["a", "b", "stop"]) {
      await client.executions.sendInput({ executionId: chat, mode: InputMode.STEER, input: { text } });
    }
    expect(await textOf(chat)).toBe("a b stop ");

    const slow = await start(program, { pace: 60 });
    await log(slow, "runStarted");
    await client.executions.cancelExecution({ executionId: slow, reason: "enough", wait: true });
    expect(await get(slow)).toMatchObject({ state: ExecutionState.CANCELLED, cancel: { cleanupError: "" } });
  }, 60_000);

  test("killed (-9) in mid-run and started again loses nothing: the next attempt goes on behind what is stored", async () => {
    const provider = await provide(program);
    const executions = await Promise.all([1, 2, 3].map(() => start(program, { pace: 0.5 })));
    await log(executions[2] ?? "", "outputTextDelta");
    await provider.kill();
    await provide(program);
    for (const id of executions) {
      expect(await textOf(id)).toBe(WHOLE_PLAN);
      expect(await get(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, attempt: 2 });
    }
  }, 120_000);

  test(`goes on with its attempt where the server is killed (-9) in mid-run, ${rounds} times`, async () => {
    await provide(program);
    for (let round = 0; round < rounds; round++) {
      const executions = await Promise.all([1, 2, 3].map(() => start(program, { pace: 0.2 + round / 50 })));
      const asking = await start(program, { way: program.toolWay });
      // A turn that the instance was never given is run by the next attempt.
      await Promise.all(executions.map((id) => log(id, "outputTextDelta")));
      const { payload } = (await log(asking, "actionRequired")).at(-1) as Event;
      await server.crash();
      const actionId = payload.case === "actionRequired" ? (payload.value.action?.id ?? "") : "";
      await respond(client, { executionId: asking, actionId }, { approved: true });
      for (const id of executions) {
        expect(await textOf(id)).toBe(WHOLE_PLAN);
        expect(await get(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, attempt: 1 });
      }
      expect(await textOf(asking)).toBe("tidy: done");
      expect((await get(asking)).attempt).toBe(1);
    }
  }, 3_600_000);

  test("goes on with its attempt where the server is shut down and started again", async () => {
    await provide(program);
    const id = await start(program, { pace: 1 });
    await log(id, "outputTextDelta");
    await server.restart();
    expect(await textOf(id)).toBe(WHOLE_PLAN);
    expect((await get(id)).attempt).toBe(1);
  }, 60_000);

  test(`loses and doubles nothing over a connection that is cut ${cuts} times`, async () => {
    const proxy = await openProxy(server.port, (connection) => ({ afterBytes: 700 + ((connection * 397) % 3_000) }));
    await provide(program, proxy.port);
    while (proxy.ended() < cuts) {
      const executions = await Promise.all([1, 2, 3].map(() => start(program, { pace: 0.02 })));
      for (const id of executions) {
        expect(await textOf(id)).toBe(WHOLE_PLAN);
        expect((await get(id)).attempt).toBe(1);
      }
    }
    await proxy.close();
  }, 3_600_000);

  test("asked to stop finishes what it has and takes no more", async () => {
    const provider = await provide(program);
    const id = await start(program, { pace: 0.3 });
    await log(id, "outputTextDelta");
    const stopped = provider.stop();
    expect(await textOf(id)).toBe(WHOLE_PLAN);
    expect((await get(id)).attempt).toBe(1);
    expect(await stopped).toBe(0);
    expect(await isAvailable(program)).toBe(false);
  }, 60_000);
});
