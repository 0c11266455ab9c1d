import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { CreateConversationRequestSchema } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ListExecutionsRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { ConflictPolicy, RunMode } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { invalid } from "../../src/core/errors.js";
import type { Provider } from "../../src/core/provider.js";
import { aborted, CALLER, gate, type Kit, manifest, openKit, provider } from "./kit.js";

const { NATIVE, EMULATED, DEGRADED, UNSUPPORTED } = SupportLevel;

async function countExecutions(kit: Kit): Promise<number> {
  return (await kit.runtime.listExecutions(CALLER, create(ListExecutionsRequestSchema))).executions.length;
}

describe("preflight", () => {
  test("P01 an unknown conversation or provider has its own error, and nothing is made", async () => {
    const kit = await openKit();
    await expect(kit.start({ conversationId: "cnv_none" })).rejects.toMatchObject({
      reason: ErrorReason.NOT_FOUND,
      metadata: { resource: "conversation", id: "cnv_none" },
    });
    await expect(kit.start({ providerId: "none" })).rejects.toMatchObject({ reason: ErrorReason.PROVIDER_NOT_FOUND });
    await expect(kit.start({ parentExecutionId: "exe_none" })).rejects.toMatchObject({ reason: ErrorReason.NOT_FOUND });
    expect(await countExecutions(kit)).toBe(0);
  });

  test("P01 several missing capabilities are one error that names all, and the provider is not touched", async () => {
    let touched = false;
    const kit = await openKit({
      providers: [
        provider(
          async () => {
            touched = true;
          },
          { manifest: manifest("test", { "input.steer": UNSUPPORTED }) },
        ),
      ],
    });
    const refused = kit.start({ requiredCapabilities: ["zoom", "input.steer", "action.input"], runMode: RunMode.PLAN });
    await expect(refused).rejects.toMatchObject({
      reason: ErrorReason.CAPABILITY_UNSUPPORTED,
      metadata: { capabilities: "input.steer,zoom", provider_id: "test" },
    });
    expect(touched).toBe(false);
    expect(await countExecutions(kit)).toBe(0);
  });

  test.each([
    [EMULATED, undefined, true],
    [DEGRADED, undefined, true],
    [UNSUPPORTED, undefined, false],
    [EMULATED, EMULATED, true],
    [EMULATED, NATIVE, false],
    [DEGRADED, EMULATED, false],
    [NATIVE, DEGRADED, true],
  ])("P02 level %i passes a minimum of %s: %s", async (level, minimum, passes) => {
    const kit = await openKit({
      providers: [provider(async () => undefined, { manifest: manifest("test", { "input.steer": level }) })],
    });
    const started = kit.start({
      requiredCapabilities: ["input.steer"],
      ...(minimum === undefined ? {} : { minimumLevels: { "input.steer": minimum } }),
    });
    if (passes) await expect(started).resolves.toMatchObject({ state: ExecutionState.QUEUED });
    else await expect(started).rejects.toMatchObject({ reason: ErrorReason.CAPABILITY_UNSUPPORTED });
  });

  test("P02 a minimum level requires its capability, and [b, a, b] is kept as [a, b]", async () => {
    const kit = await openKit();
    await expect(kit.start({ minimumLevels: { zoom: DEGRADED } })).rejects.toMatchObject({
      metadata: { capabilities: "zoom" },
    });
    const { id } = await kit.start({ requiredCapabilities: ["input.steer", "action.input", "input.steer"] });
    expect((await kit.get(id)).requiredCapabilities).toEqual(["action.input", "input.steer"]);
    const levels = await kit.start({
      requiredCapabilities: ["input.steer"],
      minimumLevels: { "input.steer": NATIVE, "action.input": DEGRADED },
    });
    expect((await kit.get(levels.id)).requiredCapabilities).toEqual(["action.input", "input.steer"]);
  });

  test.each([
    ["action.approval", (c: Parameters<Provider["run"]>[0]) => c.requestAction({ key: "k", kind: 1, title: "t" })],
    ["action.input", (c: Parameters<Provider["run"]>[0]) => c.requestAction({ key: "k", kind: 2, title: "t" })],
    [
      "artifact.list",
      (c: Parameters<Provider["run"]>[0]) => c.artifact({ id: "a", name: "a", mediaType: "text/plain" }),
    ],
  ])("P03 %s that the manifest calls UNSUPPORTED is refused when it is used all the same", async (capability, use) => {
    const kit = await openKit({
      providers: [
        provider(async (context) => void (await use(context).catch(() => undefined)), {
          manifest: manifest("test", { [capability]: UNSUPPORTED }),
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over.state).toBe(ExecutionState.FAILED);
    expect(over.error?.message).toContain(capability);
  });

  test("P04 the same conversation, key and request is the same execution, also after it ended and its provider went", async () => {
    let available = true;
    const kit = await openKit({
      providers: [provider(async () => undefined, { availability: () => ({ available, reason: "gone" }) })],
    });
    const request = {
      idempotencyKey: "once",
      config: { a: 1, b: { c: 2, d: 3 } },
      requiredCapabilities: ["action.input", "input.steer"],
    };
    const first = await kit.start(request);
    await kit.over(first.id);
    available = false;
    const again = await kit.start({
      ...request,
      config: { b: { d: 3, c: 2 }, a: 1 },
      requiredCapabilities: ["input.steer", "action.input", "input.steer"],
    });
    expect(again).toMatchObject({
      id: first.id,
      conversationId: first.conversationId,
      state: ExecutionState.SUCCEEDED,
    });
    await expect(kit.start()).rejects.toMatchObject({ reason: ErrorReason.PROVIDER_UNAVAILABLE });
  });

  test("P05 the same key with another input, or another order in an array, is IDEMPOTENCY_CONFLICT", async () => {
    const kit = await openKit({ providers: [provider(async () => undefined)] });
    const request = { idempotencyKey: "once", config: { list: [1, 2] } };
    const first = await kit.start(request);
    const before = await kit.over(first.id);
    for (const other of [{ input: { text: "bye" } }, { config: { list: [2, 1] } }]) {
      await expect(kit.start({ ...request, ...other })).rejects.toMatchObject({
        reason: ErrorReason.IDEMPOTENCY_CONFLICT,
      });
    }
    expect(await kit.get(first.id)).toEqual(before);
  });

  test("P05 the same key in another conversation or tenant is a new execution", async () => {
    const kit = await openKit();
    const request = { idempotencyKey: "once" };
    const first = await kit.start(request);
    const { id: conversationId } = await kit.runtime.createConversation(
      CALLER,
      create(CreateConversationRequestSchema),
    );
    const second = await kit.start({ ...request, conversationId });
    const third = await kit.start(request, { tenantId: "other", userId: "them" });
    expect(new Set([first.id, second.id, third.id]).size).toBe(3);
  });

  test("P06 100 concurrent equivalent starts are one execution and one run of the provider", async () => {
    let runs = 0;
    const kit = await openKit({
      providers: [
        provider(async () => {
          runs++;
        }),
      ],
    });
    const started = await Promise.all(Array.from({ length: 100 }, () => kit.start({ idempotencyKey: "once" })));
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    expect(new Set(started.map(({ conversationId }) => conversationId)).size).toBe(1);
    await kit.over(started[0]?.id ?? "");
    expect(runs).toBe(1);
    expect(await countExecutions(kit)).toBe(1);
  });

  test("a config that breaks the provider's schema names the field, and nothing is made", async () => {
    const kit = await openKit();
    await expect(kit.script([{ nonsense: 1 }])).rejects.toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    const refused = await kit.start({ config: { stepz: [] } }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    expect((refused as Error).message).toContain("stepz");
    expect(await countExecutions(kit)).toBe(0);
  });

  test.each([
    ["grants", { grants: { toolIds: ["shell"] } }, "policy.grants"],
    ["plan mode", { runMode: RunMode.PLAN }, "policy.plan"],
    ["max_revisions", { budgets: { maxRevisions: 1 } }, "policy.completion"],
  ])("%s needs its policy capability", async (_, request, capability) => {
    const kit = await openKit();
    await expect(kit.start(request)).rejects.toMatchObject({ metadata: { capabilities: capability } });
  });

  test.each<[string, object]>([
    ["a number that is not finite", { at: Number.NaN }],
    ["60 levels", Array.from({ length: 60 }).reduce<object>((inner) => ({ in: inner }), {})],
  ])("a config with %s is VALIDATION_ERROR, and nothing is made", async (_, config) => {
    const kit = await openKit({ providers: [provider(async () => undefined)] });
    await expect(kit.start({ config: config as never })).rejects.toMatchObject({
      reason: ErrorReason.VALIDATION_ERROR,
    });
    expect(await countExecutions(kit)).toBe(0);
  });

  test("an execution that its provider says could only fail is refused, and nothing is made", async () => {
    const kit = await openKit({
      providers: [
        provider(async () => undefined, {
          checkStart({ input }) {
            if (input?.text === "too much") throw invalid("grants.tool_ids", "more than the host grants");
          },
        }),
      ],
    });
    await expect(kit.start({ input: { text: "too much" } })).rejects.toMatchObject({
      reason: ErrorReason.VALIDATION_ERROR,
      metadata: { field: "grants.tool_ids" },
    });
    expect(await countExecutions(kit)).toBe(0);
    await kit.start();
  });

  test("a deadline in the past and a timeout that is not positive are VALIDATION_ERROR", async () => {
    const kit = await openKit();
    for (const request of [
      { deadlineTime: { seconds: 1n, nanos: 0 } },
      { timeout: { seconds: 0n, nanos: 0 } },
      { actionPolicy: { timeout: { seconds: -1n, nanos: 0 } } },
      { orphanPolicy: { cancelAfter: { seconds: -1n, nanos: 0 } } },
      { orphanPolicy: { cancelAfter: { seconds: 0n, nanos: 0 } } },
    ]) {
      await expect(kit.start(request)).rejects.toMatchObject({ reason: ErrorReason.VALIDATION_ERROR });
    }
  });

  test("a tenant with too many executions that are not over gets QUOTA_EXCEEDED", async () => {
    const kit = await openKit({
      providers: [provider(({ signal }) => aborted(signal))],
      limits: { maxOpenExecutions: 2 },
    });
    const { id } = await kit.start();
    await kit.start();
    await expect(kit.start()).rejects.toMatchObject({ reason: ErrorReason.QUOTA_EXCEEDED });
    await kit.cancel(id, "", true);
    await kit.start();
  });

  test("a full provider queues, and runs the oldest first", async () => {
    const order: string[] = [];
    const gates = [gate(), gate(), gate()];
    const kit = await openKit({
      providers: [
        provider(
          async ({ execution }) => {
            order.push(execution.id);
            await gates[order.length - 1]?.promise;
          },
          { capacity: 1 },
        ),
      ],
    });
    const started = [await kit.start(), await kit.start(), await kit.start()];
    for (const [index, { id }] of started.entries()) {
      await kit.until(id, "run.started");
      gates[index]?.resolve();
      await kit.over(id);
    }
    expect(order).toEqual(started.map(({ id }) => id));
  });

  describe("order in a conversation", () => {
    const keeping = (run: Provider["run"]): Provider =>
      provider(run, { manifest: manifest("test", { "conversation.continuity": EMULATED }) });

    test("executions of one conversation run one at a time, those of another beside them", async () => {
      const running = gate();
      const kit = await openKit({ providers: [keeping(() => running.promise as never)] });
      const first = await kit.start();
      const { conversationId } = first;
      await kit.until(first.id, "run.started");
      const second = await kit.start({ conversationId });
      const elsewhere = await kit.start();
      await kit.until(elsewhere.id, "run.started");
      expect((await kit.get(second.id)).state).toBe(ExecutionState.QUEUED);
      running.resolve();
      await kit.over(second.id);
      const [ended, begun] = [(await kit.get(first.id)).endTime, (await kit.get(second.id)).startTime];
      expect(begun?.seconds).toBeGreaterThanOrEqual(ended?.seconds ?? 0n);
    });

    test("with REFUSE a second start is CONVERSATION_CONFLICT; so is a child in its ancestor's conversation", async () => {
      const kit = await openKit({ providers: [keeping(({ signal }) => aborted(signal) as never)] });
      const { id, conversationId } = await kit.start();
      for (const request of [{ onConflict: ConflictPolicy.REFUSE }, { parentExecutionId: id }]) {
        await expect(kit.start({ conversationId, ...request })).rejects.toMatchObject({
          reason: ErrorReason.CONVERSATION_CONFLICT,
        });
      }
      await kit.cancel(id, "", true);
      await kit.start({ conversationId, onConflict: ConflictPolicy.REFUSE });
    });

    test("history holds what earlier executions of the conversation were asked and answered", async () => {
      const seen: string[] = [];
      const kit = await openKit({
        providers: [
          keeping(async (context) => {
            for (const { role, content } of await context.history()) seen.push(`${role}: ${content.text}`);
            return { status: "succeeded", finalOutput: `re: ${context.input.text}` };
          }),
        ],
      });
      const { id, conversationId } = await kit.start({ input: { text: "one" } });
      await kit.over(id);
      await kit.over((await kit.start({ conversationId, input: { text: "two" } })).id);
      expect(seen).toEqual(["user: one", "assistant: re: one"]);
    });
  });
});
