import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ActionKind } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { WithdrawInputRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputDropReason, InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import type { ProviderContext } from "../../src/core/provider.js";
import { settle } from "./fake-clock.js";
import { aborted, CALLER, gate, manifest, only, openKit, provider } from "./kit.js";

const { FOLLOW_UP, STEER, REPLACE } = InputMode;

/** A provider whose turns wait for the test, and are named by their input. */
function turns() {
  const begun: { readonly context: ProviderContext; readonly end: () => void }[] = [];
  const run = provider(async (context) => {
    const { promise, resolve } = gate();
    begun.push({ context, end: resolve });
    await Promise.race([promise, aborted(context.signal)]);
    return context.signal.aborted
      ? { status: "cancelled" }
      : { status: "succeeded", finalOutput: `did ${context.input.text}` };
  });
  return { run, begun };
}

describe("N03 a replace that comes between two questions", () => {
  const asks = (...keys: string[]) =>
    provider(async (context) => {
      if (context.turn > 1) return { status: "succeeded", finalOutput: `did ${context.input.text}` };
      const ask = (key: string) => context.requestAction({ key, kind: ActionKind.APPROVAL, title: key });
      await Promise.all(keys.map(ask));
      return { status: "succeeded" };
    });

  test("closes the one that is open, and opens none that waits behind it", async () => {
    const kit = await openKit({ providers: [asks("a", "b", "c")] });
    const { id } = await kit.start();
    await kit.action(id);
    await kit.send(id, REPLACE, "other");
    expect(await kit.over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, turn: 2, finalOutput: "did other" });
    const names = await kit.names(id);
    expect(names.filter((name) => name.startsWith("action."))).toEqual(["action.required", "action.abandoned"]);
  });

  test("is the next turn's, although the question comes while the replace is being stored", async () => {
    const asking = gate();
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          if (context.turn > 1) return { status: "succeeded", finalOutput: `did ${context.input.text}` };
          await asking.promise;
          await context.requestAction({ key: "a", kind: ActionKind.APPROVAL, title: "a" });
          return { status: "succeeded" };
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    const storing = gate();
    kit.store.tamper = () => storing.promise;
    const replacing = kit.send(id, REPLACE, "other");
    await settle();
    asking.resolve();
    await settle();
    storing.resolve();
    await replacing;
    expect(await kit.over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, turn: 2, finalOutput: "did other" });
    expect(await kit.names(id)).not.toContain("action.required");
  });

  test("and is refused by the store lets the question be asked", async () => {
    const asking = gate();
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          await asking.promise;
          const { approved } = await context.requestAction({ key: "a", kind: ActionKind.APPROVAL, title: "a" });
          return { status: "succeeded", finalOutput: `${approved}` };
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    const storing = gate();
    kit.store.tamper = () => storing.promise;
    const replacing = kit.send(id, REPLACE, "other", "k");
    await settle();
    asking.resolve();
    await settle();
    kit.store.tamper = () => "pass";
    storing.reject(new Error("the disk is full"));
    await expect(replacing).rejects.toThrow("the disk is full");
    await kit.respond(await kit.action(id), { approved: true });
    expect(await kit.over(id)).toMatchObject({ turn: 1, finalOutput: "true" });
  });
});

describe("input", () => {
  test("N01 a follow_up that is sent in a turn runs as the next turn of the same execution", async () => {
    const { run, begun } = turns();
    const kit = await openKit({ providers: [run] });
    const { id } = await kit.start({ input: { text: "one" } });
    await kit.until(id, "run.started");
    await settle();
    const accepted = await kit.send(id, FOLLOW_UP, "two");
    begun[0]?.end();
    await kit.until(id, "input.consumed");
    await settle();
    begun[1]?.end();
    expect(await kit.over(id)).toMatchObject({ turn: 2, finalOutput: "did two" });
    const events = await kit.events(id);
    expect(events[accepted.sequence - 1]?.payload.case).toBe("inputAccepted");
    expect(only(events, "inputConsumed")).toMatchObject({ inputId: accepted.inputId, turn: 2, supersededTurn: 0 });
    expect(events.find(({ turn }) => turn === 2)?.payload.case).toBe("inputConsumed");
  });

  test("N01 two steers arrive in order, stored as consumed before they are handed over", async () => {
    const seen: string[] = [];
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          for await (const { text } of context.steers()) {
            seen.push(`${text} ${context.execution.id === "" ? "" : "seen"}`);
            if (seen.length === 2) break;
          }
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await kit.send(id, STEER, "left");
    await kit.send(id, STEER, "right");
    const over = await kit.over(id);
    expect(seen).toEqual(["left seen", "right seen"]);
    expect(over.turn).toBe(1);
    expect((await kit.names(id)).filter((name) => name === "input.consumed")).toHaveLength(2);
  });

  test("N01 a replace aborts the turn, and the new input runs; the event names the superseded turn", async () => {
    const { run, begun } = turns();
    const kit = await openKit({ providers: [run] });
    const { id } = await kit.start({ input: { text: "one" } });
    await kit.until(id, "run.started");
    await settle();
    await kit.send(id, REPLACE, "other");
    await kit.until(id, "input.consumed");
    await settle();
    expect(begun[0]?.context.signal.aborted).toBe(true);
    begun[1]?.end();
    expect(await kit.over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, turn: 2, finalOutput: "did other" });
    expect(only(await kit.events(id), "inputConsumed")).toMatchObject({ turn: 2, supersededTurn: 1 });
  });

  test("N01 a replace goes before waiting follow_ups, which stay; of several replaces only the last runs", async () => {
    const { run, begun } = turns();
    const kit = await openKit({ providers: [run] });
    const stop = gate();
    const { id } = await kit.start({ input: { text: "one" } });
    await kit.until(id, "run.started");
    await settle();
    const sent = [kit.send(id, FOLLOW_UP, "later"), kit.send(id, REPLACE, "first"), kit.send(id, REPLACE, "second")];
    const [, first] = await Promise.all(sent);
    stop.resolve();
    for (let turn = 1; turn <= 2; turn++) {
      await kit.until(id, "input.consumed", turn - 1);
      await settle();
      begun[turn]?.end();
    }
    const over = await kit.over(id);
    expect(begun.map(({ context }) => context.input.text)).toEqual(["one", "second", "later"]);
    expect(over.finalOutput).toBe("did later");
    expect(only(await kit.events(id), "inputDropped")).toMatchObject({
      inputId: first?.inputId,
      reason: InputDropReason.SUPERSEDED,
    });
  });

  test("a replace that waits when RUNNING begins supersedes turn 1 before the provider is called", async () => {
    const { run, begun } = turns();
    const kit = await openKit({ providers: [{ ...run, start: () => settle() }] });
    const { id } = await kit.start({ input: { text: "one" } });
    await kit.send(id, REPLACE, "other");
    await kit.until(id, "input.consumed");
    await settle();
    begun[0]?.end();
    expect(await kit.over(id)).toMatchObject({ turn: 2, finalOutput: "did other" });
    expect(begun).toHaveLength(1);
  });

  test("a replace abandons the open action first", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          if (context.turn === 1) await context.requestAction({ key: "k", kind: 1, title: "?" });
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.action(id);
    await kit.send(id, REPLACE, "never mind");
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
    const names = await kit.names(id);
    expect(names.indexOf("action.abandoned")).toBe(names.indexOf("input.accepted") - 1);
  });

  test("a provider that does not stop for a replace fails, within the bound", async () => {
    const kit = await openKit({
      providers: [provider(() => new Promise(() => undefined), { cancelTimeoutMs: 2_000 })],
    });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    await kit.send(id, REPLACE, "other");
    await kit.fake.advance(5_000);
    expect((await kit.over(id)).error?.reason).toBe(FailureReason.PROVIDER_ERROR);
  });

  test("N02 an input that is withdrawn before it is consumed is dropped; a consumed one is INVALID_STATE", async () => {
    const { run, begun } = turns();
    const kit = await openKit({ providers: [run] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    const [kept, withdrawn] = [await kit.send(id, FOLLOW_UP, "keep"), await kit.send(id, FOLLOW_UP, "drop")];
    const withdraw = (inputId: string) =>
      kit.runtime.withdrawInput(CALLER, create(WithdrawInputRequestSchema, { executionId: id, inputId }));
    await withdraw(withdrawn.inputId);
    expect(only(await kit.events(id), "inputDropped")).toMatchObject({ reason: InputDropReason.WITHDRAWN });
    begun[0]?.end();
    await kit.until(id, "input.consumed");
    for (const inputId of [kept.inputId, withdrawn.inputId]) {
      await expect(withdraw(inputId)).rejects.toMatchObject({ reason: ErrorReason.INVALID_STATE });
    }
    await expect(withdraw("inp_none")).rejects.toMatchObject({ reason: ErrorReason.NOT_FOUND });
    await settle();
    begun[1]?.end();
    await kit.over(id);
    await expect(withdraw(kept.inputId)).rejects.toMatchObject({ reason: ErrorReason.INVALID_STATE });
  });

  test("N02 a steer that nobody took passes to the next turn, and is dropped at the end", async () => {
    const { run, begun } = turns();
    const kit = await openKit({ providers: [run] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    await kit.send(id, STEER, "nobody listens");
    await kit.send(id, FOLLOW_UP, "two");
    for (const turn of [0, 1]) {
      begun[turn]?.end();
      await settle();
    }
    await kit.over(id);
    const events = await kit.events(id);
    expect(only(events, "inputDropped").reason).toBe(InputDropReason.EXECUTION_ENDED);
    expect(events.at(-3)?.payload.case).toBe("inputDropped");
  });

  test("N03 the 33rd input that waits is INPUT_QUEUE_FULL", async () => {
    const { run } = turns();
    const kit = await openKit({ providers: [run] });
    const { id } = await kit.start();
    for (let count = 0; count < 32; count++) await kit.send(id, FOLLOW_UP, String(count));
    await expect(kit.send(id, FOLLOW_UP, "33")).rejects.toMatchObject({ reason: ErrorReason.INPUT_QUEUE_FULL });
    await kit.cancel(id, "", true);
  });

  test("N03 an undeclared mode is INPUT_MODE_UNSUPPORTED; a terminal execution is INVALID_STATE", async () => {
    const kit = await openKit({
      providers: [provider(async () => undefined, { manifest: manifest("test", { "input.steer": 4 }) })],
    });
    const { id } = await kit.start();
    await expect(kit.send(id, STEER, "x")).rejects.toMatchObject({ reason: ErrorReason.INPUT_MODE_UNSUPPORTED });
    await kit.over(id);
    await expect(kit.send(id, FOLLOW_UP, "x")).rejects.toMatchObject({
      reason: ErrorReason.INVALID_STATE,
      metadata: { state: "SUCCEEDED" },
    });
  });

  test("N03 the same idempotency key twice is one input, also at once and after the end; another input is a conflict", async () => {
    const { run } = turns();
    const kit = await openKit({ providers: [run] });
    const { id } = await kit.start();
    const sent = await Promise.all(Array.from({ length: 20 }, () => kit.send(id, STEER, "x", "once")));
    expect(new Set(sent.map(({ inputId }) => inputId)).size).toBe(1);
    expect(new Set(sent.map(({ sequence }) => sequence)).size).toBe(1);
    await expect(kit.send(id, STEER, "y", "once")).rejects.toMatchObject({ reason: ErrorReason.IDEMPOTENCY_CONFLICT });
    await kit.cancel(id, "", true);
    expect((await kit.send(id, STEER, "x", "once")).inputId).toBe(sent[0]?.inputId);
  });

  test("N04 a send that races the end is refused, or consumed or dropped with an event", async () => {
    const kit = await openKit();
    for (let round = 0; round < 50; round++) {
      const { id } = await kit.script(round % 2 === 0 ? [] : [{ text: "x" }]);
      for (let turn = 0; turn < round; turn++) await Promise.resolve();
      const sent = await kit.send(id, FOLLOW_UP, "late").catch((error: { reason: ErrorReason }) => error.reason);
      await kit.over(id);
      if (typeof sent === "number") expect(sent).toBe(ErrorReason.INVALID_STATE);
      else expect((await kit.names(id)).filter((name) => /input\.(consumed|dropped)/.test(name))).toHaveLength(1);
    }
  });

  test("N05 a steer that comes once nobody iterates any more waits for the next turn", async () => {
    const seen: unknown[] = [];
    const left = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          const steers = context.steers()[Symbol.asyncIterator]();
          const next = steers.next();
          if (context.turn === 1) {
            await steers.return?.();
            left.resolve();
            await go.promise;
          }
          seen.push([context.turn, (await next).value?.text]);
        }),
      ],
    });
    const { id } = await kit.start();
    await left.promise;
    await kit.send(id, STEER, "late");
    await kit.send(id, FOLLOW_UP, "next");
    go.resolve();
    await kit.over(id);
    expect(seen).toEqual([
      [1, undefined],
      [2, "late"],
    ]);
  });

  test("N05 after a crash an input that waited is delivered once, a consumed one is only listed", async () => {
    const seen: unknown[] = [];
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          seen.push([context.attempt, context.resume?.inputs.map(({ content }) => content.text)]);
          for await (const { text } of context.steers()) {
            seen.push(text);
            if (text === "two") break;
          }
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.send(id, STEER, "one");
    await kit.until(id, "input.consumed");
    await settle();
    await kit.crash();
    await kit.until(id, "run.resumed");
    await kit.send(id, STEER, "two");
    await kit.over(id);
    expect(seen).toEqual([[1, undefined], "one", [2, ["one"]], "two"]);
  });

  describe("a completion policy's word", () => {
    const revising = (decide: (revision: number) => CompletionAction) => {
      let revision = 0;
      return provider(async ({ input }) => ({
        status: "succeeded",
        finalOutput: `answer to ${input.text}`,
        evaluation: { action: decide(revision++), reason: "because", instruction: "try harder" },
      }));
    };

    test("REVISE begins the next turn with its instruction", async () => {
      const kit = await openKit({
        providers: [revising((count) => (count === 0 ? CompletionAction.REVISE : CompletionAction.ACCEPT))],
      });
      const over = await kit.over((await kit.start()).id);
      expect(over).toMatchObject({ turn: 2, finalOutput: "answer to try harder" });
      const evaluated = (await kit.events(over.id)).filter(({ payload }) => payload.case === "completionEvaluated");
      expect(evaluated.map(({ turn }) => turn)).toEqual([2, 2]);
      expect(evaluated.map(({ payload }) => payload.value)).toMatchObject([{ revision: 1 }, { revision: 1 }]);
    });

    test("STOP ends FAILED with POLICY_STOPPED", async () => {
      const kit = await openKit({ providers: [revising(() => CompletionAction.STOP)] });
      const over = await kit.over((await kit.start()).id);
      expect(over.error).toMatchObject({ reason: FailureReason.POLICY_STOPPED, message: "because" });
    });
  });
});
