import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, toJson } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ActionKind } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionSchema } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ListExecutionsRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { CALLER, openKit, provider } from "./kit.js";

type Start = MessageInitShape<typeof StartExecutionRequestSchema>;

describe("times of a request", () => {
  test.each<[string, Start]>([
    ["timeout", { timeout: { seconds: 315_576_000_000n } }],
    ["timeout", { timeout: { seconds: 0n, nanos: -1 } }],
    ["action_policy.timeout", { actionPolicy: { timeout: { seconds: 315_576_000_000n } } }],
    ["deadline_time", { deadlineTime: { seconds: 253_402_300_800n } }],
    ["deadline_time", { deadlineTime: { seconds: 9_223_372_036_854_775_807n } }],
    ["deadline_time", { deadlineTime: { seconds: -9_223_372_036_854_775_807n } }],
  ])("a %s out of range is refused, and nothing is made", async (field, request) => {
    const kit = await openKit();
    await expect(kit.start(request)).rejects.toMatchObject({
      reason: ErrorReason.VALIDATION_ERROR,
      metadata: { field },
    });
    const { executions } = await kit.runtime.listExecutions(CALLER, create(ListExecutionsRequestSchema));
    expect(executions).toEqual([]);
  });

  test("a timeout below a millisecond is one millisecond", async () => {
    const asks = provider(async (context) => {
      await context.requestAction({ key: "k", kind: ActionKind.INPUT, title: "t" });
    });
    const kit = await openKit({ providers: [asks] });
    const started = await kit.start({ timeout: { nanos: 100_000 } });
    if (started.deadlineTime === undefined || started.createTime === undefined) throw new Error("it has no deadline");
    expect(timestampMs(started.deadlineTime) - timestampMs(started.createTime)).toBe(1);
    expect(() => toJson(ExecutionSchema, started)).not.toThrow();
    const { id } = await kit.start({ actionPolicy: { timeout: { nanos: 100_000 } } });
    const { createTime, expireTime } = await kit.action(id);
    if (createTime === undefined || expireTime === undefined) throw new Error("it does not expire");
    expect(timestampMs(expireTime) - timestampMs(createTime)).toBe(1);
  });
});
