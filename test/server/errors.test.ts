import * as http2 from "node:http2";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { RunMode } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { HarnessError, type Reason } from "../../src/core/errors.js";
import type { Log } from "../../src/core/provider.js";
import { CODES, createErrorConverter, fromHarnessError } from "../../src/server/errors.js";
import { WIRES } from "./support/clients.js";
import { failure, infoOf, serve } from "./support/serve.js";

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };
const REASONS = Object.values(ErrorReason).filter((value): value is Reason => typeof value === "number" && value !== 0);

describe("the error converter", () => {
  test("every reason has a code and arrives as an ErrorInfo with its name", () => {
    for (const reason of REASONS) {
      const error = fromHarnessError(new HarnessError(reason, "a message", { key: "value" }));
      expect(error.code).toBe(CODES[reason]);
      expect(error.rawMessage).toBe("a message");
      expect(error.findDetails(ErrorInfoSchema)[0]).toMatchObject({
        reason: ErrorReason[reason],
        domain: "harnessruntime",
        metadata: { key: "value" },
      });
    }
  });

  test("violations and a back-off accompany it", () => {
    const violations = [{ field: "mode", description: "must be set" }];
    const error = fromHarnessError(
      new HarnessError(ErrorReason.VALIDATION_ERROR, "mode", {}, { violations, retryMs: 1_500 }),
    );
    expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations).toMatchObject(violations);
    expect(error.findDetails(RetryInfoSchema)[0]?.retryDelay).toMatchObject({ seconds: 1n, nanos: 500_000_000 });
  });

  test("anything else is INTERNAL with an ID alone, and is logged under it", () => {
    const logged: unknown[] = [];
    const converter = createErrorConverter({ ...silent, error: (fields) => logged.push(fields) }, () => "id-1");
    for (const bug of [new TypeError("secret"), "secret", new HarnessError(ErrorReason.INTERNAL, "secret")]) {
      const error = converter.toRpcError(bug, "GetExecution");
      expect(error.code).toBe(Code.Internal);
      expect(error.rawMessage).not.toContain("secret");
      expect(infoOf(error)).toEqual({ reason: "INTERNAL", metadata: { error_id: "id-1" } });
    }
    expect(logged).toMatchObject(Array.from({ length: 3 }, () => ({ error_id: "id-1", rpc: "GetExecution" })));
    expect(JSON.stringify(logged[0])).toContain("secret");
  });

  test("the RPC library's own errors and an abort are not bugs", () => {
    const converter = createErrorConverter(silent);
    const own = new ConnectError("no", Code.Unimplemented);
    expect(converter.toRpcError(own, "")).toBe(own);
    expect(converter.toRpcError(AbortSignal.abort().reason, "").code).toBe(Code.Canceled);
  });

  test.each([
    ["ERR_STREAM_PREMATURE_CLOSE", "Premature close", Code.Canceled],
    ["ECONNRESET", "aborted", Code.Canceled],
    ["ERR_HTTP2_STREAM_ERROR", "Stream closed with error code NGHTTP2_CANCEL", Code.Canceled],
    ["ERR_HTTP2_STREAM_ERROR", "Stream closed with error code NGHTTP2_INTERNAL_ERROR", Code.Internal],
    ["ECONNRESET", "read ECONNRESET", Code.Internal],
  ])("a caller that goes away is told from a bug (%s: %s)", (code, message, expected) => {
    const logged: unknown[] = [];
    const converter = createErrorConverter({ ...silent, error: (fields) => logged.push(fields) });
    expect(converter.toRpcError(Object.assign(new Error(message), { code }), "ServerReflectionInfo").code).toBe(
      expected,
    );
    expect(logged).toHaveLength(expected === Code.Canceled ? 0 : 1);
  });

  test("a call that its caller breaks off at once is no fault to warn of", async () => {
    const warned: unknown[] = [];
    const brokenOff: unknown[] = [];
    const debug = (fields: object, message: string) => {
      if (message === "call broken off") brokenOff.push(fields);
    };
    const log = { ...silent, debug, warn: (fields: object, message: string) => warned.push({ ...fields, message }) };
    const { url } = await serve({ log });
    const session = http2.connect(url);
    const calls = ["WatchExecutions", "GetExecution"].flatMap((method) =>
      ["application/grpc", "application/connect+json", "application/json"].map((type) => ({ method, type })),
    );
    for (const { method, type } of Array.from({ length: 10 }, () => calls).flat()) {
      const path = `/harnessruntime.v1.ExecutionService/${method}`;
      const call = session.request({ ":method": "POST", ":path": path, "content-type": type });
      call.on("error", () => undefined);
      call.write(Buffer.alloc(5));
      call.close(http2.constants.NGHTTP2_CANCEL);
    }
    await expect.poll(() => warned.length + brokenOff.length).toBeGreaterThan(0);
    await new Promise((resolve) => session.ping(resolve));
    expect(warned).toEqual([]);
    session.destroy();
  });

  test("a content type that no protocol has is refused in words", async () => {
    const { url } = await serve();
    const ask = (method: string) =>
      fetch(`${url}/harnessruntime.v1.ExecutionService/${method}`, {
        method: "POST",
        body: "{}",
        headers: { "content-type": "text/plain" },
      });
    const stream = await ask("WatchEvents");
    expect([stream.status, await stream.text()]).toEqual([
      415,
      "a stream needs content-type application/connect+json or application/grpc; ListEvents gives events as plain JSON\n",
    ]);
    const unary = await ask("GetExecution");
    expect([unary.status, await unary.text()]).toEqual([
      415,
      expect.stringMatching(/^send content-type application\/json/),
    ]);
  });

  test("a GET of a method that has effects is refused in words", async () => {
    const { url } = await serve();
    const answer = await fetch(`${url}/harnessruntime.v1.ExecutionService/StartExecution`);
    expect([answer.status, await answer.text()]).toEqual([
      405,
      "use POST: StartExecution is called with no other method\n",
    ]);
  });

  test.each([
    ["parse binary: premature EOF", Code.Internal, "VALIDATION_ERROR"],
    ["received compressed envelope, but do not know how to decompress", Code.Internal, "VALIDATION_ERROR"],
    ["protocol error: missing input message for unary method", Code.InvalidArgument, "VALIDATION_ERROR"],
    ["message size 9 is larger than configured readMaxBytes 8", Code.ResourceExhausted, "REQUEST_TOO_LARGE"],
  ])("a request that the RPC library cannot read (%s) is the caller's fault", (message, code, reason) => {
    const error = createErrorConverter(silent).toRpcError(new ConnectError(message, code), "");
    expect(infoOf(error).reason).toBe(reason);
    expect([Code.InvalidArgument, Code.ResourceExhausted]).toContain(error.code);
  });

  for (const wire of WIRES) {
    test(`an error of any size arrives whole over ${wire.name}`, async () => {
      const long = "ü".repeat(20_000);
      const { fake, url } = await serve();
      fake.runtime.getExecution = async () => {
        throw new HarnessError(
          ErrorReason.CAPABILITY_UNSUPPORTED,
          long,
          { capabilities: long, more: long },
          {
            violations: Array.from({ length: 300 }, () => ({ field: long, description: long })),
          },
        );
      };
      const client = createClient(ExecutionService, wire.connect(url));
      const error = await failure(client.getExecution({ executionId: "x" }));
      expect(error.code).toBe(Code.FailedPrecondition);
      expect(infoOf(error).metadata["capabilities"]).toMatch(/^ü{500,}$/);
      expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations).toHaveLength(1);
    });

    test(`a request that breaks a rule is VALIDATION_ERROR with its fields over ${wire.name}`, async () => {
      const { url } = await serve();
      const client = createClient(ExecutionService, wire.connect(url));
      const source = { case: "uri" as const, value: "x" };
      const error = await failure(client.sendInput({ executionId: "", input: { attachments: [{ source }] } }));
      expect(error.code).toBe(Code.InvalidArgument);
      expect(infoOf(error).reason).toBe("VALIDATION_ERROR");
      const fields = error.findDetails(BadRequestSchema)[0]?.fieldViolations.map(({ field }) => field);
      expect(fields).toEqual(["execution_id", "input.attachments[0].media_type", "mode"]);
    });
  }

  test("a value that an enum lacks is told with the names of those that it has", async () => {
    const { url } = await serve();
    const client = createClient(ExecutionService, createGrpcTransport({ baseUrl: url }));
    const input = { text: "x" };
    const faults = [
      [
        client.sendInput({ executionId: "e", input }),
        "mode",
        "INPUT_MODE_FOLLOW_UP, INPUT_MODE_STEER, INPUT_MODE_REPLACE",
      ],
      [
        client.startExecution({ providerId: "p", input, runMode: 9 as RunMode }),
        "run_mode",
        "RUN_MODE_EXECUTE, RUN_MODE_PLAN",
      ],
      [client.listExecutions({ states: [1, 0] }), "states[1]", "EXECUTION_STATE_QUEUED, EXECUTION_STATE_STARTING"],
    ] as const;
    for (const [call, field, names] of faults) {
      expect((await failure(call)).rawMessage).toMatch(`${field}: must be one of ${names}`);
    }
  });
});
