import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { StartExecutionRequestSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Scene } from "../suite.js";
import { must, refusal, start } from "../support/stage.js";

type Start = MessageInitShape<typeof StartExecutionRequestSchema>;
const HELLO = { providerId: "scripted", input: { text: "hello" } } satisfies Start;

let keys = 0;
const newKey = (): string => `key-${process.pid}-${keys++}`;

export function testPreflight(scene: () => Scene): void {
  describe("preflight and idempotency", () => {
    const startId = async (request: Start, { executions } = scene().clients): Promise<string> =>
      must((await executions.startExecution(request)).execution).id;

    test.each<[string, Start, { reason: string; metadata?: Record<string, string> }]>([
      ["an unknown provider", { ...HELLO, providerId: "none" }, { reason: "PROVIDER_NOT_FOUND" }],
      [
        "an unknown conversation",
        { ...HELLO, conversationId: "none" },
        { reason: "NOT_FOUND", metadata: { resource: "conversation", id: "none" } },
      ],
      ["an unknown parent", { ...HELLO, parentExecutionId: "none" }, { reason: "NOT_FOUND" }],
      [
        "missing capabilities, all of them named",
        { ...HELLO, requiredCapabilities: ["policy.plan", "none", "event.replay", "extension.mcp"] },
        { reason: "CAPABILITY_UNSUPPORTED", metadata: { capabilities: "extension.mcp,none,policy.plan" } },
      ],
      [
        "a level that is not reached",
        { ...HELLO, minimumLevels: { "extension.sandbox": SupportLevel.EMULATED } },
        { reason: "CAPABILITY_UNSUPPORTED", metadata: { capabilities: "extension.sandbox" } },
      ],
      ["an unknown key of the config", { ...HELLO, config: { stepz: [] } }, { reason: "VALIDATION_ERROR" }],
      ["no input", { providerId: "scripted" }, { reason: "VALIDATION_ERROR" }],
      [
        "a negative timeout",
        { ...HELLO, timeout: { seconds: -1n } },
        { reason: "VALIDATION_ERROR", metadata: { field: "timeout" } },
      ],
      [
        "actions that expire at once",
        { ...HELLO, actionPolicy: { timeout: {} } },
        { reason: "VALIDATION_ERROR", metadata: { field: "action_policy.timeout" } },
      ],
      [
        "an orphan policy of no time",
        { ...HELLO, orphanPolicy: { cancelAfter: {} } },
        { reason: "VALIDATION_ERROR", metadata: { field: "orphan_policy.cancel_after" } },
      ],
      [
        "an attachment that has no bytes and no URI",
        { ...HELLO, input: { attachments: [{ mediaType: "text/plain" }] } },
        { reason: "VALIDATION_ERROR", metadata: { field: "input.attachments[0].source" } },
      ],
      ["P07 a key of no characters", { ...HELLO, idempotencyKey: "" }, { reason: "VALIDATION_ERROR" }],
      ["P07 a key of 201 characters", { ...HELLO, idempotencyKey: "k".repeat(201) }, { reason: "VALIDATION_ERROR" }],
    ])("P01 a start with %s is refused, and nothing is created", async (_, request, expected) => {
      const { executions } = scene().clients;
      const labels = { case: newKey() };
      expect(await refusal(executions.startExecution({ ...request, labels }))).toMatchObject(expected);
      expect((await executions.listExecutions({ labels })).executions).toEqual([]);
    });

    test("P02 DEGRADED passes unless a minimum says otherwise; capabilities are kept sorted and once each", async () => {
      const requiredCapabilities = ["extension.sandbox", "action.input", "extension.sandbox"];
      const minimumLevels = { "extension.sandbox": SupportLevel.DEGRADED };
      const { execution } = await scene().clients.executions.startExecution({
        ...HELLO,
        requiredCapabilities,
        minimumLevels,
      });
      expect(execution?.requiredCapabilities).toEqual(["action.input", "extension.sandbox"]);
    });

    test("P04 the same key and an equivalent request give the same execution, also after it ended", async () => {
      const idempotencyKey = newKey();
      const steps = [{ text: "x" }];
      const first = await start(
        scene().clients,
        { steps, final_output: "y" },
        { idempotencyKey, requiredCapabilities: ["event.replay", "action.input"] },
      );
      await first.finish();
      const again = await startId({
        ...HELLO,
        config: { final_output: "y", steps },
        requiredCapabilities: ["action.input", "event.replay", "action.input"],
        idempotencyKey,
      });
      expect(again).toBe(first.id);
    });

    test("P05 the same key and another request is IDEMPOTENCY_CONFLICT; elsewhere the key is free", async () => {
      const { clients, rival } = scene();
      const idempotencyKey = newKey();
      const first = await startId({ ...HELLO, idempotencyKey });
      const other = { ...HELLO, input: { text: "other" }, idempotencyKey };
      expect((await refusal(clients.executions.startExecution(other))).reason).toBe("IDEMPOTENCY_CONFLICT");
      const { conversation } = await clients.conversations.createConversation({});
      expect(await startId({ ...HELLO, conversationId: must(conversation).id, idempotencyKey })).not.toBe(first);
      expect(await startId({ ...HELLO, idempotencyKey }, rival)).not.toBe(first);
    });

    test("P06 100 concurrent equivalent starts make one execution", async () => {
      const labels = { case: newKey() };
      const request = { ...HELLO, labels, idempotencyKey: newKey() };
      const ids = await Promise.all(Array.from({ length: 100 }, () => startId(request)));
      expect(new Set(ids).size).toBe(1);
      expect((await scene().clients.executions.listExecutions({ labels })).executions).toHaveLength(1);
    });

    test("a conversation takes a key too", async () => {
      const { conversations } = scene().clients;
      const idempotencyKey = newKey();
      const create = async (metadata: { a: number }) =>
        must((await conversations.createConversation({ metadata, idempotencyKey })).conversation).id;
      expect(await create({ a: 1 })).toBe(await create({ a: 1 }));
      expect((await refusal(create({ a: 2 }))).reason).toBe("IDEMPOTENCY_CONFLICT");
    });
  });
}
