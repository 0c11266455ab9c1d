import { create } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { ConflictPolicy } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { HarnessError } from "../../src/core/errors.js";
import type { Provider } from "../../src/core/provider.js";
import { settle } from "./fake-clock.js";
import { aborted, gate, type Kit, manifest, openKit, provider } from "./kit.js";

const keeping = (run: Provider["run"], more: Partial<Provider> = {}, id = "test"): Provider =>
  provider(run, { manifest: manifest(id, { "conversation.continuity": SupportLevel.EMULATED }), ...more });

const text = (value: string) => create(ValueSchema, { kind: { case: "stringValue", value } });

const stateOf = async (kit: Kit, id: string) => (await kit.get(id)).state;

describe("order over a restart", () => {
  test.each([
    ["in one conversation", true, 64],
    ["where the provider has room for one", false, 1],
  ])("what waited does not overtake what ran, %s", async (_, together, capacity) => {
    const sweeping = gate<undefined>();
    const ran: string[] = [];
    const second = keeping(
      async ({ input, attempt }) => {
        ran.push(`${input.text} ${attempt}`);
        return { status: "succeeded" };
      },
      { capacity, recover: () => sweeping.promise },
    );
    const kit = await openKit({ providers: [keeping(({ signal }) => aborted(signal) as never, { capacity })] });
    const first = await kit.start({ input: { text: "first" } });
    await kit.until(first.id, "run.started");
    await settle();
    const conversation = together ? { conversationId: first.conversationId } : {};
    const waiting = await kit.start({ input: { text: "second" }, ...conversation });
    await settle();
    await kit.crash({ providers: [second] });
    await settle();
    expect(ran).toEqual([]);
    expect(await stateOf(kit, waiting.id)).toBe(ExecutionState.QUEUED);
    sweeping.resolve(undefined);
    await kit.over(waiting.id);
    expect(ran).toEqual(["first 2", "second 1"]);
  });

  test("what ran keeps its conversation also while its provider is away", async () => {
    const hanging: Provider["run"] = ({ signal }) => aborted(signal) as never;
    const kit = await openKit({ providers: [keeping(hanging, {}, "one"), keeping(hanging, {}, "two")] });
    const first = await kit.start({ providerId: "one" });
    await kit.until(first.id, "run.started");
    const second = await kit.start({ providerId: "two", conversationId: first.conversationId });
    await settle();
    await kit.crash({ providers: [keeping(async () => ({ status: "succeeded" }), {}, "two")] });
    await settle();
    expect(await stateOf(kit, second.id)).toBe(ExecutionState.QUEUED);
    await kit.fake.advance(30_000);
    expect(await stateOf(kit, first.id)).toBe(ExecutionState.FAILED);
    expect((await kit.over(second.id)).state).toBe(ExecutionState.SUCCEEDED);
  });

  test("an answer that comes while a turn is taken up again is the next turn's input", async () => {
    const asking = provider(async ({ turn, input }) =>
      turn > 2
        ? { status: "succeeded", finalOutput: input.text }
        : { status: "awaiting_input", request: { key: `q${turn}`, title: "Which?" } },
    );
    const kit = await openKit({ providers: [asking] });
    const { id } = await kit.start();
    await kit.respond(await kit.action(id), { value: text("the red one") });
    const action = await kit.action(id, 1);
    await kit.crash();
    const reading = gate();
    const { getInput } = kit.store;
    kit.store.getInput = async (...args) => {
      await reading.promise;
      return await getInput(...args);
    };
    await settle();
    await kit.respond(action, { value: text("the blue one") });
    reading.resolve();
    expect(await kit.over(id)).toMatchObject({ turn: 3, finalOutput: "the blue one" });
  });
});

describe("order after a failure of the store", () => {
  test("what could not be taken into work keeps its place", async () => {
    const ran: string[] = [];
    const kit = await openKit({
      providers: [
        keeping(async ({ input }) => {
          ran.push(input.text);
          return { status: "succeeded" };
        }),
      ],
    });
    const { claim } = kit.store;
    kit.store.claim = async () => {
      kit.store.claim = claim;
      throw new HarnessError(ErrorReason.STORE_UNAVAILABLE, "the disk is full");
    };
    const first = await kit.start({ input: { text: "first" } });
    const second = await kit.start({ input: { text: "second" }, conversationId: first.conversationId });
    await settle();
    expect(ran).toEqual([]);
    await kit.fake.advance(1_000);
    await kit.over(second.id);
    expect(ran).toEqual(["first", "second"]);
  });

  test("a cancel that the store refuses while an execution is taken into work leaves it to run", async () => {
    const kit = await openKit({ providers: [provider(async () => ({ status: "succeeded" }))] });
    const claiming = gate();
    const { claim } = kit.store;
    kit.store.claim = async (...args) => {
      await claiming.promise;
      return await claim(...args);
    };
    const { id } = await kit.start();
    const writing = gate();
    kit.store.tamper = () => writing.promise.then(() => Promise.reject(new Error("the disk is full")));
    const cancelled = kit.cancel(id);
    cancelled.catch(() => undefined);
    claiming.resolve();
    await settle();
    kit.store.tamper = () => "pass";
    writing.resolve();
    await expect(cancelled).rejects.toThrow();
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
  });
});

describe("children", () => {
  test("C07 a child that is being stored while its parent is cancelled is cancelled too", async () => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal))] });
    const parent = await kit.start();
    await kit.until(parent.id, "run.started");
    const storing = gate();
    kit.store.tamper = (write) => (write.create === undefined ? "pass" : storing.promise);
    const starting = kit.start({ parentExecutionId: parent.id });
    await settle();
    await kit.cancel(parent.id, "stop", true);
    storing.resolve();
    const child = await kit.over((await starting).id);
    expect(child).toMatchObject({ state: ExecutionState.CANCELLED, parentExecutionId: parent.id });
  });
});

describe("closing", () => {
  test("arms no clock for the readers that it sends away", async () => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal))] });
    const { id } = await kit.start({ orphanPolicy: { cancelAfter: { seconds: 3600n } } });
    const watching = (async () => {
      for await (const batch of kit.batches(id)) void batch;
    })();
    await kit.until(id, "run.started");
    await kit.runtime.close();
    await watching.catch(() => undefined);
    expect(kit.fake.pending).toBe(0);
    await kit.open();
  });

  test("while something is recovered writes nothing more, and leaves no timer behind", async () => {
    const sweeping = gate<undefined>();
    const unresumable = manifest("test", { "execution.resume": SupportLevel.UNSUPPORTED });
    const hanging = (more: Partial<Provider>) =>
      provider(({ signal }) => aborted(signal), { manifest: unresumable, ...more });
    const kit = await openKit({ providers: [hanging({})] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    await kit.crash({ providers: [hanging({ recover: () => sweeping.promise })] });
    await settle();
    let writes = 0;
    kit.store.tamper = () => {
      writes++;
      return "refuse";
    };
    await kit.runtime.close();
    const timers = kit.fake.pending;
    sweeping.resolve(undefined);
    await settle();
    expect({ writes, timers, later: kit.fake.pending }).toEqual({ writes: 0, timers: 0, later: 0 });
    await kit.open({ providers: [hanging({})] });
    expect((await kit.over(id)).state).toBe(ExecutionState.FAILED);
  });
});

describe("equivalents that overtake one another", () => {
  test("P04 the same start again, while the first is being stored, is the first, also with REFUSE", async () => {
    const kit = await openKit({ providers: [keeping(({ signal }) => aborted(signal) as never)] });
    const { conversationId, id } = await kit.start();
    await kit.cancel(id, "", true);
    const storing = gate();
    kit.store.tamper = () => storing.promise;
    const request = { conversationId, idempotencyKey: "k", onConflict: ConflictPolicy.REFUSE };
    const starting = [1, 2, 3].map(() => kit.start(request));
    await settle();
    storing.resolve();
    const ids = (await Promise.all(starting)).map((execution) => execution.id);
    expect(new Set(ids).size).toBe(1);
  });

  test("P04 the same input again, while the first fills the queue, is the first", async () => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal))] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    for (let count = 0; count < 31; count++) await kit.send(id, InputMode.FOLLOW_UP, `${count}`);
    const storing = gate();
    kit.store.tamper = () => storing.promise;
    const sending = [1, 2].map(() => kit.send(id, InputMode.FOLLOW_UP, "last", "k"));
    await settle();
    storing.resolve();
    const [first, second] = await Promise.all(sending);
    expect(second?.inputId).toBe(first?.inputId);
    await expect(kit.send(id, InputMode.FOLLOW_UP, "another", "k2")).rejects.toMatchObject({
      reason: ErrorReason.INPUT_QUEUE_FULL,
    });
  });

  test("starts at the same moment do not pass the most that a tenant may have open", async () => {
    const kit = await openKit({
      providers: [provider(({ signal }) => aborted(signal))],
      limits: { maxOpenExecutions: 5 },
    });
    const storing = gate();
    kit.store.tamper = () => storing.promise;
    const starting = Promise.allSettled(Array.from({ length: 20 }, () => kit.start()));
    await settle();
    storing.resolve();
    const refused = (await starting).flatMap((start) => (start.status === "rejected" ? [start.reason] : []));
    expect(refused.map(({ reason }) => reason)).toEqual(Array.from({ length: 15 }, () => ErrorReason.QUOTA_EXCEEDED));
  });
});
