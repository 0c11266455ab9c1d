import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from "../../gen/ts/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../gen/ts/grpc/reflection/v1/reflection_pb.js";
import { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import { collect, failure, infoOf, serve } from "./support/serve.js";

const run = promisify(execFile);
const SERVICES = [
  "harnessruntime.v1.ActionService",
  "harnessruntime.v1.ConversationService",
  "harnessruntime.v1.ExecutionService",
  "harnessruntime.v1.RuntimeService",
];

describe("health", () => {
  test("is SERVING as a whole and for each service, and unknown for others", async () => {
    const { url } = await serve();
    const health = createClient(Health, createGrpcTransport({ baseUrl: url }));
    for (const service of ["", ...SERVICES])
      expect((await health.check({ service })).status).toBe(ServingStatus.SERVING);
    expect((await failure(health.check({ service: "other" }))).code).toBe(Code.NotFound);
    expect(Object.keys((await health.list({})).statuses).sort()).toEqual(["", ...SERVICES]);
  });

  test("tells its watchers when a drain begins, and their streams end", async () => {
    const { url, server } = await serve();
    const health = createClient(Health, createGrpcTransport({ baseUrl: url }));
    const seen: ServingStatus[] = [];
    let draining: Promise<void> | undefined;
    for await (const { status } of health.watch({ service: "" })) {
      seen.push(status);
      draining ??= server.drain();
    }
    await draining;
    expect(seen).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
    expect((await health.check({ service: SERVICES[0]! })).status).toBe(ServingStatus.NOT_SERVING);
  });
});

describe("reflection", () => {
  test.each(["grpc-v1", "grpc-v1alpha"])("lets buf curl call by %s with no proto files", async (version) => {
    const { url } = await serve();
    const reflect = ["--reflect", "--reflect-protocol", version, "--http2-prior-knowledge"];
    const listed = await run("node_modules/.bin/buf", ["curl", ...reflect, "--list-services", url]);
    expect(listed.stdout.split("\n")).toEqual(expect.arrayContaining(SERVICES));
    const path = `${url}/harnessruntime.v1.ExecutionService/GetExecution`;
    const called = run("node_modules/.bin/buf", [
      "curl",
      ...reflect,
      "--protocol",
      "grpc",
      "-d",
      '{"executionId":"x"}',
      path,
    ]);
    const error = await called.then(
      () => undefined,
      (reason: { stderr: string }) => reason,
    );
    expect(JSON.parse(error?.stderr ?? "")).toMatchObject({
      code: "not_found",
      details: [{ type: "google.rpc.ErrorInfo" }],
    });
  });

  test("knows the types of error details, which no method names", async () => {
    const { url } = await serve();
    const reflection = createClient(ServerReflection, createGrpcTransport({ baseUrl: url }));
    const ask = async function* (...symbols: string[]) {
      for (const value of symbols) yield { messageRequest: { case: "fileContainingSymbol" as const, value } };
    };
    const symbols = ["google.rpc.ErrorInfo", "harnessruntime.v1.Execution.state", "harnessruntime.v1.Nothing"];
    const answers = await collect(reflection.serverReflectionInfo(ask(...symbols)));
    expect(answers.map(({ messageResponse }) => messageResponse.case)).toEqual([
      "fileDescriptorResponse",
      "fileDescriptorResponse",
      "errorResponse",
    ]);
  });
});

describe("DescribeRuntime and providers", () => {
  test("say what the server is and what its limits are", async () => {
    const { url } = await serve({ version: "1.2.3", limits: { maxRequestBytes: 4_096 } });
    const client = createClient(
      RuntimeService,
      createConnectTransport({ baseUrl: url, httpVersion: "1.1", useHttpGet: true }),
    );
    expect(await client.describeRuntime({})).toMatchObject({
      name: "harness-runtime",
      version: "1.2.3",
      protocolVersion: "2026-09-02",
      providers: [{ id: "alpha" }, { id: "beta" }, { id: "fake" }],
      limits: {
        maxEventBytes: 262_144,
        maxRequestBytes: 4_096,
        maxPageSize: 1_000,
        maxQueuedInputs: 32,
        heartbeatInterval: { seconds: 10n },
      },
    });
  });

  test("providers come in pages", async () => {
    const { url } = await serve();
    const client = createClient(RuntimeService, createGrpcTransport({ baseUrl: url }));
    const first = await client.listProviders({ pageSize: 2 });
    expect(first.providers.map(({ manifest }) => manifest?.id)).toEqual(["alpha", "beta"]);
    const second = await client.listProviders({ pageSize: 2, pageToken: first.nextPageToken });
    expect(second.providers.map(({ manifest }) => manifest?.id)).toEqual(["fake"]);
    expect(second.nextPageToken).toBe("");
    for (const pageToken of ["?", "YWxwaGE", "bm90aGluZw", `${first.nextPageToken}A`]) {
      const error = await failure(client.listProviders({ pageToken }));
      expect(error.code).toBe(Code.InvalidArgument);
      expect(infoOf(error).reason).toBe("VALIDATION_ERROR");
      expect(error.rawMessage).toContain("not a token of this list");
    }
  });
});
