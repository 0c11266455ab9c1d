// What a user writes with the generated messages and services, compiled as strictly as a user may.
import assert from "node:assert/strict";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ExecutionSchema } from "harness-runtime/gen/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "harness-runtime/gen/harnessruntime/v1/execution_service_pb.js";

const client = createClient(ExecutionService, createGrpcTransport({ baseUrl: "http://127.0.0.1:1" }));
await assert.rejects(client.getExecution({ executionId: "e" }), /ECONNREFUSED/);

const execution = create(ExecutionSchema, { id: "e" });
assert.equal(fromBinary(ExecutionSchema, toBinary(ExecutionSchema, execution)).id, "e");
