import { describe, expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ActionTimeoutPolicy } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { SupportLevel, Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Provider, ProviderContext } from "../../src/core/provider.js";
import { openMemoryStore } from "../../src/store/memory.js";
import { settle } from "./fake-clock.js";
import { aborted, gate, manifest, only, openKit, provider } from "./kit.js";

const HALF = "Hello \ud83d";

/** JSON that is nested `levels` deep. */
function nested(levels: number): { [key: string]: never } {
  let value: object = {};
  for (let level = 1; level < levels; level++) value = { in: value };
  return value as { [key: string]: never };
}

describe("a provider that gives what cannot be kept", () => {
  test.each<[string, (context: ProviderContext) => Promise<unknown>, string]>([
    ["a delta", (context) => context.emit({ case: "outputTextDelta", value: { text: HALF } }), "Hello \ufffd"],
    ["an output", async () => ({ status: "succeeded", finalOutput: HALF }), "Hello \ufffd"],
    ["a tool call", (context) => context.emit({ case: "toolCallStarted", value: { toolCallId: "1", name: HALF } }), ""],
    [
      "vendor data",
      (context) => context.emit({ case: "providerEvent", value: { type: "acme.x", data: { [HALF]: [HALF] } } }),
      "",
    ],
    ["an artifact", (context) => context.artifact({ id: "a", name: HALF, mediaType: "text/plain" }), ""],
  ])("half an emoji in %s becomes U+FFFD", async (_, act, output) => {
    const kit = await openKit({ providers: [provider(act)] });
    const over = await kit.over((await kit.start()).id);
    expect(over).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: output });
  });

  test("half an emoji in an error or in an action's title does no harm", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          await context.requestAction({ key: "k", kind: 1, title: HALF });
          throw new Error(HALF);
        }),
      ],
    });
    const { id } = await kit.start();
    const action = await kit.action(id);
    expect(action.title).toBe("Hello \ufffd");
    await kit.respond(action, { approved: true });
    expect((await kit.over(id)).error?.message).toBe("Hello \ufffd");
  });

  test("token counts that add up to more than an int32 stop there, and the runtime goes on", async () => {
    const usage = { totalTokens: 2 ** 31 - 1, cost: { currency: "USD", micros: 2n ** 63n - 1n } };
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          for (let call = 0; call < 3; call++)
            await context.emit({ case: "modelCompleted", value: { model: "m", usage } });
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over.state).toBe(ExecutionState.SUCCEEDED);
    expect(over.usage).toMatchObject({ totalTokens: 2 ** 31 - 1, modelCalls: 3, cost: { micros: 2n ** 63n - 1n } });
  });

  test("a write that cannot be encoded is refused to whoever asked for it, and harms nothing after it", async () => {
    let refused: unknown;
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          refused = await context
            .emit({ case: "outputTextDelta", value: { text: "a" } }, { mark: 1n as unknown as number })
            .catch((error: unknown) => error);
          await context.emit({ case: "outputTextDelta", value: { text: "b" } });
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(refused).toBeInstanceOf(TypeError);
    expect(over.state).toBe(ExecutionState.SUCCEEDED);
    expect((await kit.names(over.id)).filter((name) => name === "output.text.delta")).toHaveLength(1);
  });

  test.each<[string, Partial<Provider> & { run?: Provider["run"] }]>([
    ["a hook that throws what has no text", { cancel: () => Promise.reject(Object.create(null)) }],
    ["a containment that is none", { cancel: async () => ({ containment: { level: "x" as never } }) }],
  ])("%s does not keep an execution CANCELLING", async (_, more) => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal), more)] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    const over = await kit.cancel(id, "", true);
    expect(over.state).toBe(ExecutionState.CANCELLED);
    expect(over.cancel?.cleanupError).not.toBe("");
  });

  test.each<[string, (context: ProviderContext) => Promise<unknown>]>([
    ["a reason that is a word", async () => ({ status: "failed", message: "no", reason: "PROVIDER_ERROR" })],
    ["a usage that is a word", async () => ({ status: "succeeded", usage: "much" })],
    ["an output nested 60 deep", async () => ({ status: "succeeded", structuredOutput: nested(60) })],
    [
      "a question nested 60 deep",
      async () => ({ status: "awaiting_input", request: { key: "k", title: "?", payload: nested(60) } }),
    ],
    [
      "an onOpen that throws",
      (context) =>
        context.requestAction({
          key: "k",
          kind: 1,
          title: "?",
          onOpen: () => {
            throw new Error("no");
          },
        }),
    ],
    [
      "an event nested 60 deep",
      (context) => context.emit({ case: "providerEvent", value: { type: "acme.x", data: nested(60) } }),
    ],
  ])("%s ends FAILED and can be read", async (_, act) => {
    const kit = await openKit({ providers: [provider(act)] });
    const over = await kit.over((await kit.start()).id);
    expect(over.state).toBe(ExecutionState.FAILED);
    expect(over.error?.message).not.toBe("");
  });

  test("changing the input that it was given changes nothing", async () => {
    const kit = await openKit({
      providers: [
        provider(async ({ input }) => {
          input.text = HALF;
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over.input?.text).toBe("hello");
  });
});

describe("clocks and recovery under hard luck", () => {
  test("an action's timeout, an orphan's grace and a deadline are tried again while the store fails", async () => {
    const asking = provider(async (context) => void (await context.requestAction({ key: "k", kind: 1, title: "?" })));
    const kit = await openKit({ providers: [asking] });
    const seconds = { seconds: 4n, nanos: 0 };
    const expiring = await kit.start({ actionPolicy: { timeout: seconds } });
    const orphaned = await kit.start({ orphanPolicy: { cancelAfter: seconds } });
    for (const { id } of [expiring, orphaned]) await kit.action(id);
    kit.store.tamper = () => "refuse";
    await kit.fake.advance(6_000);
    kit.store.tamper = () => "pass";
    await kit.fake.advance(2_000);
    expect((await kit.over(expiring.id)).state).toBe(ExecutionState.SUCCEEDED);
    expect((await kit.over(orphaned.id)).state).toBe(ExecutionState.CANCELLED);
  });

  test("a failure by action timeout is not forgotten over a kill", async () => {
    const hanging = provider(
      async (context) => {
        const { expired } = await context.requestAction({ key: "k", kind: 1, title: "?" });
        return { status: "succeeded", finalOutput: expired ? "went on without approval" : "approved" };
      },
      { cancel: () => new Promise(() => undefined) },
    );
    const kit = await openKit({ providers: [hanging] });
    const timeout = { seconds: 1n, nanos: 0 };
    const { id } = await kit.start({ actionPolicy: { timeout, onTimeout: ActionTimeoutPolicy.FAIL } });
    await kit.action(id);
    await kit.fake.advance(1_500);
    expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
    await kit.crash();
    const over = await kit.over(id);
    expect(over.error?.reason).toBe(FailureReason.ACTION_TIMEOUT);
    expect(await kit.names(id)).not.toContain("run.resumed");
  });

  test("two providers that keep conversations take turns in one, and neither is left QUEUED", async () => {
    const keeping = (id: string, run: Provider["run"]) =>
      provider(run, { manifest: manifest(id, { "conversation.continuity": SupportLevel.EMULATED }) });
    const running = gate();
    const kit = await openKit({
      providers: [
        keeping("one", () => running.promise as never),
        keeping("two", async () => ({ status: "succeeded" })),
      ],
    });
    const first = await kit.start({ providerId: "one" });
    await kit.until(first.id, "run.started");
    const second = await kit.start({ providerId: "two", conversationId: first.conversationId });
    await settle();
    expect((await kit.get(second.id)).state).toBe(ExecutionState.QUEUED);
    running.resolve();
    expect((await kit.over(second.id)).state).toBe(ExecutionState.SUCCEEDED);
  });

  test("a cancel while a remote provider is still away is not confirmed before the provider was told", async () => {
    const cancelled: string[] = [];
    const back = gate<boolean>();
    const remote = (reattach: () => Promise<boolean>) =>
      provider(({ signal }) => aborted(signal), {
        manifest: manifest("test", {}, Topology.REMOTE),
        reattach,
        async cancel({ execution }) {
          cancelled.push(execution.id);
          return undefined;
        },
      });
    const kit = await openKit({ providers: [remote(async () => false)] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    await kit.crash({ providers: [remote(() => back.promise)] });
    expect((await kit.cancel(id, "stop")).state).toBe(ExecutionState.CANCELLING);
    await settle();
    expect((await kit.get(id)).state).toBe(ExecutionState.CANCELLING);
    back.resolve(true);
    expect((await kit.over(id)).state).toBe(ExecutionState.CANCELLED);
    expect(cancelled).toEqual([id]);
  });

  test("a deadline that passes while an execution is recovered fails it once its recovery is over", async () => {
    const away = gate<boolean>();
    const remote = (reattach: () => Promise<boolean>) =>
      provider(({ signal }) => aborted(signal), { manifest: manifest("test", {}, Topology.REMOTE), reattach });
    const kit = await openKit({ providers: [remote(async () => false)] });
    const { id } = await kit.start({ timeout: { seconds: 10n, nanos: 0 } });
    await kit.until(id, "run.started");
    await settle();
    await kit.crash({ providers: [remote(() => away.promise)] });
    await kit.fake.advance(10_000);
    expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
    away.resolve(true);
    expect((await kit.over(id)).error?.reason).toBe(FailureReason.DEADLINE_EXCEEDED);
    expect(only(await kit.events(id), "runFailed").reason).toBe(FailureReason.DEADLINE_EXCEEDED);
  });

  test("one stored execution that cannot be read keeps no other from going on", async () => {
    const inner = openMemoryStore();
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal))], inner });
    const [broken, whole] = [await kit.start(), await kit.start()];
    for (const { id } of [broken, whole]) await kit.until(id, "run.started");
    await settle();
    const list = inner.listUnfinished.bind(inner);
    inner.listUnfinished = async () =>
      (await list()).map((stored) =>
        stored.key.executionId === broken.id ? { ...stored, row: Buffer.from([0xff]) } : stored,
      );
    await kit.crash({ providers: [provider(async () => undefined)] });
    expect((await kit.over(whole.id)).state).toBe(ExecutionState.SUCCEEDED);
    inner.listUnfinished = list;
    await kit.crash({ providers: [provider(async () => undefined)] });
    expect((await kit.over(broken.id)).state).toBe(ExecutionState.SUCCEEDED);
  });
});
