import { create } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, onTestFinished, test } from "vitest";
import { ErrorInfoSchema } from "../../../gen/ts/google/rpc/error_details_pb.js";
import {
  ConnectRequestSchema,
  ProviderService,
} from "../../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { StartExecutionRequestSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { openRuntime } from "../../../src/core/open-runtime.js";
import type { ProviderContext } from "../../../src/core/provider.js";
import type { Caller, Runtime } from "../../../src/core/runtime.js";
import { type ConnectOptions, connectProvider, defineProvider } from "../../../src/provider.js";
import { openRemoteProviders, type RemoteProvidersOptions } from "../../../src/providers/remote/remote-providers.js";
import { scriptedProvider } from "../../../src/providers/scripted/scripted.js";
import { type Authenticator, bearerToken, SCOPES } from "../../../src/server/auth.js";
import { type RunningServer, type ServerOptions, startServer } from "../../../src/server/server.js";
import { openMemoryStore } from "../../../src/store/memory.js";
import { until } from "../../support/processes.js";
import { openProxy } from "../../support/proxy.js";
import { remoteManifest, SILENT } from "./kit.js";

const CALLER: Caller = { tenantId: "local", userId: "local" };
const quick = { minMs: 1, maxMs: 20 };

/** A secret names the scopes that it has. */
const auth: Authenticator = {
  async authenticate(credentials) {
    const scopes = bearerToken(credentials)?.split(",") ?? [];
    if (scopes.length === 0) return undefined;
    return { ...CALLER, scopes: new Set(SCOPES.filter((scope) => scopes.includes(scope))) };
  },
};

interface Served {
  readonly runtime: Runtime;
  readonly server: RunningServer;
  run(text?: string): Promise<string>;
  over(
    executionId: string,
  ): Promise<{ readonly state: ExecutionState; readonly output: string; readonly attempt: number }>;
}

/** Serves a runtime that providers dial in to on a free port, until the test ends. */
async function serve(
  options: Partial<ServerOptions> = {},
  remoteOptions: RemoteProvidersOptions = {},
): Promise<Served> {
  const store = openMemoryStore();
  const remote = await openRemoteProviders({ graceMs: 15_000, ...remoteOptions });
  const runtime = await openRuntime({ store, providers: [] });
  const server = await startServer({ runtime, port: 0, services: [remote.serve(runtime)], ...options });
  onTestFinished(async () => {
    await runtime.close();
    await server.close(0);
    await store.close();
  });
  return {
    runtime,
    server,
    async run(text = "hello") {
      const request = create(StartExecutionRequestSchema, { providerId: "remote", input: { text } });
      return (await runtime.startExecution(CALLER, request)).id;
    },
    async over(executionId) {
      const execution = await runtime.waitExecution(CALLER, executionId, 15_000);
      return { state: execution.state, output: execution.finalOutput ?? "", attempt: execution.attempt };
    },
  };
}

/** Connects a provider of one function until the test ends. */
async function provide(run: (context: ProviderContext) => Promise<undefined>, options: ConnectOptions) {
  const connection = connectProvider(defineProvider({ manifest: remoteManifest(), run }), {
    backoff: quick,
    log: SILENT,
    ...options,
  });
  onTestFinished(() => connection.close());
  await connection.registered;
  return connection;
}

async function count(context: ProviderContext): Promise<undefined> {
  for (let number = 0; number < 30; number++) {
    await context.emit({ case: "outputTextDelta", value: { text: `${number} ` } });
  }
}
const COUNTED = Array.from({ length: 30 }, (_, number) => `${number} `).join("");

describe("over the network", () => {
  test("a provider runs executions, and drains", async () => {
    const { server, run, over } = await serve();
    const connection = await provide(count, { url: server.url });
    const ids = await Promise.all(Array.from({ length: 20 }, () => run()));
    for (const id of ids) expect(await over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, output: COUNTED });
    await connection.drain();
    await expect(run()).rejects.toThrow(/not available/);
  });

  test("any provider of the port may dial in: the scripted one plays its script there", async () => {
    const { server, runtime, over } = await serve();
    const connection = connectProvider(defineProvider(scriptedProvider()), {
      url: server.url,
    });
    onTestFinished(() => connection.close());
    await connection.registered;
    const steps = [
      { reasoning: "hm" },
      { tool_call: { name: "ls", output: ["a"] } },
      { artifact: { name: "a.txt", media_type: "text/plain" } },
      { usage: { prompt_tokens: 3, completion_tokens: 4 } },
      { flood: { count: 2_000, bytes: 64 } },
      { text: "done" },
    ];
    const request = create(StartExecutionRequestSchema, {
      providerId: "scripted",
      input: { text: "x" },
      config: { steps, final_output: "all of it" },
    });
    const { id } = await runtime.startExecution(CALLER, request);
    expect(await over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, output: "all of it" });
    const execution = await runtime.getExecution(CALLER, id);
    expect(execution.usage).toMatchObject({ totalTokens: 7, modelCalls: 1, toolCalls: 1 });
    expect(execution.lastSequence).toBeGreaterThan(2_000);
  });

  const wires: readonly (readonly [string, (baseUrl: string) => Transport])[] = [
    ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
    ["gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" })],
    ["Connect", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" })],
    ["Connect, JSON", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false })],
  ];
  test.each(wires)("W01 a provider may speak %s", async (_, toTransport) => {
    const { server, run, over } = await serve();
    const client = createClient(ProviderService, toTransport(server.url));
    await provide(count, { url: "", dial: (requests, signal) => client.connect(requests, { signal }) });
    expect(await over(await run())).toMatchObject({ state: ExecutionState.SUCCEEDED, output: COUNTED });
  });

  test.each([
    ["no credentials", undefined, /no credentials/],
    ["credentials without the scope", "read,run", /providers:connect/],
  ])("W05 %s are refused for good", async (_, token, message) => {
    const { server } = await serve({ auth });
    const connection = connectProvider(defineProvider({ manifest: remoteManifest(), run: count }), {
      url: server.url,
      ...(token === undefined ? {} : { token }),
    });
    await expect(connection.registered).rejects.toThrow(message);
    await expect(connection.closed).rejects.toThrow(message);
  });

  test("credentials with the scope are asked for before each try", async () => {
    const { server, run, over } = await serve({ auth });
    let asked = 0;
    const token = async (): Promise<string> => {
      asked++;
      return "providers:connect";
    };
    const proxy = await openProxy(server.port, () => ({}));
    onTestFinished(() => proxy.close());
    await provide(count, { url: `http://127.0.0.1:${proxy.port}`, token });
    proxy.cutAll();
    await until("it is back", () => asked === 2 && proxy.accepted() === 2);
    await until("it is available", async () => (await run().catch(() => "")) !== "");
    expect(await over(await run())).toMatchObject({ state: ExecutionState.SUCCEEDED, output: COUNTED });
  });

  test("W03 a message that is too large ends the stream, and not the server", async () => {
    const { server, run, over } = await serve();
    const client = createClient(ProviderService, createGrpcTransport({ baseUrl: server.url }));
    const huge = create(ConnectRequestSchema, {
      message: {
        case: "emit",
        value: { executionId: "e", attempt: 1, emitId: 1, resumeState: new Uint8Array(5 << 20) },
      },
    });
    const register = {
      manifest: remoteManifest({ "event.streaming": SupportLevel.NATIVE }),
      instanceId: "i",
      capacity: 1,
    };
    async function* requests() {
      yield create(ConnectRequestSchema, { message: { case: "register", value: register } });
      yield huge;
      await new Promise(() => undefined);
    }
    const reading = (async () => {
      for await (const _ of client.connect(requests()));
    })();
    const error = await reading.catch((cause: unknown) => cause);
    const details = (error as { findDetails?: (desc: typeof ErrorInfoSchema) => { reason: string }[] }).findDetails;
    expect(details?.call(error, ErrorInfoSchema)[0]?.reason).toBe("REQUEST_TOO_LARGE");
    await provide(count, { url: server.url });
    expect(await over(await run())).toMatchObject({ state: ExecutionState.SUCCEEDED });
  });

  test("a connection that is cut at random bytes, delayed and half-open loses and doubles nothing", async () => {
    const { server, run, over } = await serve({}, { heartbeatMs: 300, graceMs: 15_000 });
    const endings = ["reset", "close", "half-open"] as const;
    const proxy = await openProxy(server.port, (connection) => ({
      afterBytes: 900 + ((connection * 577) % 4_000),
      delayMs: connection % 3,
      ending: endings[connection % 3] ?? "reset",
    }));
    onTestFinished(() => proxy.close());
    await provide(count, { url: `http://127.0.0.1:${proxy.port}` });
    for (let round = 0; round < 4; round++) {
      await until("it is available", async () => {
        const id = await run().catch(() => undefined);
        if (id === undefined) return false;
        expect(await over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, output: COUNTED, attempt: 1 });
        return true;
      });
    }
    expect(proxy.ended()).toBeGreaterThan(3);
  });

  test("a server that drains tells its instances, keeps their streams while they work, and then ends them", async () => {
    const { server, runtime, run, over } = await serve();
    const go = Promise.withResolvers<void>();
    const connection = await provide(
      async (context) => {
        await context.emit({ case: "outputTextDelta", value: { text: "one " } });
        await go.promise;
        await context.emit({ case: "outputTextDelta", value: { text: "two" } });
        return undefined;
      },
      { url: server.url },
    );
    const id = await run();
    await until("it works", () => connection.executions === 1);
    await server.drain(50);
    go.resolve();
    expect(await over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, output: "one two", attempt: 1 });
    await runtime.close();
    await until("it has nothing", () => connection.executions === 0);
  });
});
