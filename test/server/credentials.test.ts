import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { Health } from "../../gen/ts/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../gen/ts/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionV1Alpha } from "../../gen/ts/grpc/reflection/v1alpha/reflection_pb.js";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ConversationService } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import { type Authenticator, bearerToken, SCOPES } from "../../src/server/auth.js";
import { scopesByMethod } from "../../src/server/scopes.js";
import { failure, infoOf, serve } from "./support/serve.js";

const SERVICES: readonly DescService[] = [
  RuntimeService,
  ConversationService,
  ExecutionService,
  ActionService,
  Health,
  ServerReflection,
  ServerReflectionV1Alpha,
];
const METHODS = SERVICES.flatMap((service) => service.methods).map(
  (method) => [`${method.parent.typeName}/${method.name}`, method] as const,
);

/** Each secret names its tenant and scopes: `acme:read,run`. */
const auth: Authenticator = {
  async authenticate(credentials) {
    const [tenantId = "", scopes = ""] = bearerToken(credentials)?.split(":") ?? [];
    if (tenantId !== "acme" && tenantId !== "rival") return undefined;
    return { tenantId, userId: "ann", scopes: new Set(SCOPES.filter((scope) => scopes.split(",").includes(scope))) };
  },
};

function connect(url: string, secret?: string): Transport {
  return createGrpcTransport({
    baseUrl: url,
    interceptors: [
      (next) => (request) => {
        if (secret !== undefined) request.header.set("authorization", `Bearer ${secret}`);
        return next(request);
      },
    ],
  });
}

/** Calls a method with an empty request and resolves with its first answer. */
async function callEmpty(transport: Transport, method: DescMethod): Promise<unknown> {
  const message = create(method.input);
  if (method.methodKind === "unary") {
    return transport.unary(method as never, undefined, 5_000, undefined, message as never);
  }
  const messages = (async function* () {
    yield message;
  })();
  const response = await transport.stream(method as never, undefined, 5_000, undefined, messages as never);
  for await (const first of response.message) return first;
  return undefined;
}

describe("credentials", () => {
  test("every method of every service has a scope", () => {
    expect([...scopesByMethod([]).keys()].map((method) => method.name).sort()).toEqual(
      METHODS.map(([, method]) => method.name).sort(),
    );
  });

  test.each(METHODS)("W05 %s without credentials, or with wrong ones, is UNAUTHENTICATED", async (name, method) => {
    const { url } = await serve({ auth });
    for (const secret of [undefined, "wrong"]) {
      const call = callEmpty(connect(url, secret), method);
      if (name === "grpc.health.v1.Health/Check") expect(await call).toBeDefined();
      else {
        const error = await failure(call);
        expect(error.code).toBe(Code.Unauthenticated);
        expect(infoOf(error).reason).toBe("UNAUTHENTICATED");
      }
    }
  });

  test.each(METHODS.filter(([name]) => name.startsWith("harnessruntime")))(
    "%s without its scope is PERMISSION_DENIED",
    async (_, method) => {
      const scope = scopesByMethod([]).get(method) ?? "";
      const others = SCOPES.filter((other) => other !== scope);
      const { url } = await serve({ auth });
      const error = await failure(callEmpty(connect(url, `acme:${others}`), method));
      expect(error.code).toBe(Code.PermissionDenied);
      expect(infoOf(error)).toEqual({ reason: "PERMISSION_DENIED", metadata: { scope } });
    },
  );

  test("an execution belongs to the caller's tenant and another tenant finds nothing", async () => {
    const { url } = await serve({ auth });
    const client = createClient(ExecutionService, connect(url, "acme:read,run"));
    const { execution } = await client.startExecution({ providerId: "fake", input: { text: "hi" } });
    expect(execution).toMatchObject({ tenantId: "acme", userId: "ann" });
    const rival = createClient(ExecutionService, connect(url, "rival:read,run"));
    const stolen = await failure(rival.getExecution({ executionId: "exe_1" }));
    const unknown = await failure(rival.getExecution({ executionId: "exe_2" }));
    expect(infoOf(stolen)).toMatchObject({ reason: "NOT_FOUND", metadata: { id: "exe_1" } });
    expect(stolen.rawMessage.replace("exe_1", "exe_2")).toBe(unknown.rawMessage);
  });

  test("without authentication everybody is the user local of the tenant local", async () => {
    const { url } = await serve();
    const client = createClient(ExecutionService, connect(url));
    const { execution } = await client.startExecution({ providerId: "fake", input: { text: "hi" } });
    expect(execution).toMatchObject({ tenantId: "local", userId: "local" });
  });
});
