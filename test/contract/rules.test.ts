import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { describe, expect, test } from "vitest";
import { ConnectRequestSchema } from "../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { RespondActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { AttachExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/attach_pb.js";
import { ListEventsRequestSchema, WatchEventsRequestSchema } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import {
  CancelExecutionRequestSchema,
  SendInputRequestSchema,
  StartExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import {
  ListExecutionsRequestSchema,
  WaitExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";

const validator = createValidator();
const start = { providerId: "scripted", input: { text: "hi" } };
const manifest = { id: "p", version: "1", topologies: ["TOPOLOGY_REMOTE"] };

/** The paths of the fields that break a rule; "" stands for the message itself. */
function broken(schema: DescMessage, json: JsonObject): readonly string[] {
  const { violations = [] } = validator.validate(schema, fromJson(schema, json));
  return violations.map(({ field }) => field.map((part) => ("name" in part ? part.name : "")).join("."));
}

describe("requests that keep the rules", () => {
  const cases: readonly [DescMessage, JsonObject][] = [
    [StartExecutionRequestSchema, start],
    [
      StartExecutionRequestSchema,
      { ...start, timeout: "30s", idempotencyKey: "k".repeat(200), requiredCapabilities: ["b", "a", "b"] },
    ],
    [
      StartExecutionRequestSchema,
      {
        ...start,
        timeout: "315360000s",
        actionPolicy: { timeout: "0.000000001s" },
        input: { attachments: [{ mediaType: "a/b", data: "" }] },
      },
    ],
    [SendInputRequestSchema, { executionId: "e", input: { text: "" }, mode: "INPUT_MODE_FOLLOW_UP" }],
    [SendInputRequestSchema, { executionId: "e", input: {}, mode: "INPUT_MODE_FOLLOW_UP" }],
    [WaitExecutionRequestSchema, { executionId: "e", timeout: "0s" }],
    [WaitExecutionRequestSchema, { executionId: "e", timeout: "315576000000s" }],
    [CancelExecutionRequestSchema, { executionId: "e", reason: "r".repeat(500) }],
    [WatchEventsRequestSchema, { executionId: "e", eventTypes: ["run.*"] }],
    [ListExecutionsRequestSchema, { pageSize: 100_000 }],
    [RespondActionRequestSchema, { executionId: "e", actionId: "a", response: { value: null } }],
    [AttachExecutionRequestSchema, { start }],
    [ConnectRequestSchema, { register: { manifest, instanceId: "i", capacity: 1 } }],
  ];
  test.each(cases)("%s takes %j", (schema, json) => {
    expect(broken(schema, json)).toEqual([]);
  });
});

describe("requests that break one", () => {
  const cases: readonly [string, DescMessage, JsonObject, string][] = [
    ["P07 a key of 0 characters", StartExecutionRequestSchema, { ...start, idempotencyKey: "" }, "idempotency_key"],
    [
      "P07 a key of 201 characters",
      StartExecutionRequestSchema,
      { ...start, idempotencyKey: "k".repeat(201) },
      "idempotency_key",
    ],
    ["no provider", StartExecutionRequestSchema, { input: { text: "hi" } }, "provider_id"],
    ["no input", StartExecutionRequestSchema, { providerId: "p" }, "input"],
    ["two ends", StartExecutionRequestSchema, { ...start, timeout: "1s", deadlineTime: "2030-01-01T00:00:00Z" }, ""],
    [
      "a minimum that every provider misses",
      StartExecutionRequestSchema,
      { ...start, minimumLevels: { a: "SUPPORT_LEVEL_UNSUPPORTED" } },
      "minimum_levels.",
    ],
    ["a negative budget", StartExecutionRequestSchema, { ...start, budgets: { maxTokens: -1 } }, "budgets.max_tokens"],
    [
      "an attachment of no type",
      StartExecutionRequestSchema,
      { ...start, input: { attachments: [{ uri: "file:///a" }] } },
      "input.attachments..media_type",
    ],
    [
      "an attachment of no bytes and no URI",
      StartExecutionRequestSchema,
      { ...start, input: { attachments: [{ mediaType: "text/plain" }] } },
      "input.attachments..source",
    ],
    ["a timeout of no time", StartExecutionRequestSchema, { ...start, timeout: "0s" }, "timeout"],
    ["a timeout of more than 10 years", StartExecutionRequestSchema, { ...start, timeout: "315360001s" }, "timeout"],
    [
      "an action that expires at once",
      StartExecutionRequestSchema,
      { ...start, actionPolicy: { timeout: "0s" } },
      "action_policy.timeout",
    ],
    [
      "an orphan of negative age",
      StartExecutionRequestSchema,
      { ...start, orphanPolicy: { cancelAfter: "-1s" } },
      "orphan_policy.cancel_after",
    ],
    ["a negative wait", WaitExecutionRequestSchema, { executionId: "e", timeout: "-0.5s" }, "timeout"],
    ["an unset mode", SendInputRequestSchema, { executionId: "e", input: {} }, "mode"],
    ["a mode that does not exist", SendInputRequestSchema, { executionId: "e", input: {}, mode: 9 }, "mode"],
    [
      "a reason of 501 characters",
      CancelExecutionRequestSchema,
      { executionId: "e", reason: "r".repeat(501) },
      "reason",
    ],
    ["R02 a negative cursor", WatchEventsRequestSchema, { executionId: "e", afterSequence: -1 }, "after_sequence"],
    [
      "R02 a negative cursor of a page",
      ListEventsRequestSchema,
      { executionId: "e", afterSequence: -1 },
      "after_sequence",
    ],
    ["a negative page", ListExecutionsRequestSchema, { pageSize: -1 }, "page_size"],
    ["no answer", RespondActionRequestSchema, { executionId: "e", actionId: "a" }, "response"],
    ["no command", AttachExecutionRequestSchema, { commandId: "c" }, "command"],
    ["a command that breaks a rule", AttachExecutionRequestSchema, { attach: {} }, "attach.execution_id"],
    [
      "an instance with no room",
      ConnectRequestSchema,
      { register: { manifest, instanceId: "i" } },
      "register.capacity",
    ],
    [
      "a provider's id with a space",
      ConnectRequestSchema,
      { register: { manifest: { ...manifest, id: "a b" }, instanceId: "i", capacity: 1 } },
      "register.manifest.id",
    ],
  ];
  test.each(cases)("%s", (_, schema, json, path) => {
    expect(broken(schema, json)).toEqual([path]);
  });
});
