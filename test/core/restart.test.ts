import { describe, expect, test } from "vitest";
import { ActionKind } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { ActionAnswer } from "../../src/core/provider.js";
import type { Append } from "../../src/core/store.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { settle } from "./fake-clock.js";
import { aborted, gate, manifest, only, openKit, provider } from "./kit.js";

const unresumable = { "execution.resume": 4 };

describe("restart", () => {
  test("a queued execution runs after the restart", async () => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal), { capacity: 1 })] });
    const first = await kit.start();
    const second = await kit.start();
    await kit.until(first.id, "run.started");
    await kit.crash({ providers: [provider(async () => undefined)] });
    expect((await kit.over(second.id)).attempt).toBe(1);
    expect((await kit.over(first.id)).attempt).toBe(2);
  });

  test("where the provider can resume, the next attempt goes on with what was saved", async () => {
    const seen: unknown[] = [];
    const resumable = provider(async (context) => {
      seen.push(
        context.resume && [
          context.resume.attempt,
          Buffer.from(context.resume.state ?? []).toString(),
          context.resume.lastSequence,
        ],
      );
      if (context.attempt === 1) {
        context.saveResumeState(Buffer.from("half way"));
        await context.emit({ case: "outputTextDelta", value: { text: "one " } });
        await aborted(context.signal);
      }
      await context.emit({ case: "outputTextDelta", value: { text: "two" } });
    });
    const kit = await openKit({ providers: [resumable] });
    const { id } = await kit.start();
    await kit.until(id, "output.text.delta");
    await kit.crash();
    const over = await kit.over(id);
    expect(over).toMatchObject({ state: ExecutionState.SUCCEEDED, attempt: 2, turn: 1, finalOutput: "one two" });
    expect(seen).toEqual([undefined, [2, "half way", 4]]);
    const resumed = (await kit.events(id)).find(({ attempt }) => attempt === 2);
    expect(resumed?.payload).toMatchObject({
      case: "runResumed",
      value: { attempt: 2, node: "node-1", previousFailure: { reason: FailureReason.RUNTIME_RESTARTED } },
    });
  });

  test("where it cannot, FAILED with RUNTIME_RESTARTED, after what was left is ended", async () => {
    const swept: string[] = [];
    const plain = provider(({ signal }) => aborted(signal), {
      manifest: manifest("test", unresumable),
      async recover({ id }) {
        swept.push(id);
        return { error: "one process escaped", containment: { level: 2, escaped: ["12 sh"] } };
      },
    });
    const kit = await openKit({ providers: [plain] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await kit.crash();
    const over = await kit.over(id);
    expect(over.error).toMatchObject({ reason: FailureReason.RUNTIME_RESTARTED, cleanupError: "one process escaped" });
    expect(over.containment).toMatchObject({ level: 2, escaped: ["12 sh"] });
    expect(swept).toEqual([id]);
  });

  test.each([
    ["its provider cannot resume", [provider(async () => undefined, { manifest: manifest("test", unresumable) })]],
    ["its provider does not come back", []],
  ])("what an execution had said is its partial output where %s", async (_, providers) => {
    const talking = provider(
      async (context) => {
        await context.emit({ case: "outputTextDelta", value: { text: `turn ${context.turn}, ` } });
        await context.emit({ case: "outputTextDelta", value: { text: "half of" } });
        if (context.turn === 2) await aborted(context.signal);
      },
      { manifest: manifest("test", unresumable) },
    );
    const kit = await openKit({ providers: [talking] });
    const { id } = await kit.start();
    await kit.send(id, InputMode.FOLLOW_UP, "more");
    await kit.until(id, "output.text.delta", 3);
    await settle();
    await kit.crash({ providers });
    await kit.fake.advance(30_000);
    expect((await kit.over(id)).state).toBe(ExecutionState.FAILED);
    expect(only(await kit.events(id), "runFailed").partialOutput).toBe("turn 2, half of");
  });

  test("an execution found CANCELLING is swept and CANCELLED; its hook is not called again", async () => {
    let hooks = 0;
    let sweeps = 0;
    const hanging = provider(({ signal }) => aborted(signal), {
      async cancel() {
        hooks++;
        return await new Promise(() => undefined);
      },
      async recover() {
        sweeps++;
        return undefined;
      },
    });
    const kit = await openKit({ providers: [hanging] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    await kit.cancel(id, "stop");
    await settle();
    await kit.crash();
    expect(await kit.over(id)).toMatchObject({ state: ExecutionState.CANCELLED, cancel: { reason: "stop" } });
    expect([hooks, sweeps]).toEqual([1, 1]);
  });

  test("an execution of a provider that is gone is PROVIDER_LOST after the grace, and resumed where it comes back", async () => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal))] });
    const [lost, kept] = [await kit.start(), await kit.start()];
    for (const { id } of [lost, kept]) await kit.until(id, "run.started");
    await kit.crash({ providers: [] });
    await kit.fake.advance(29_999);
    expect((await kit.get(lost.id)).state).toBe(ExecutionState.RUNNING);
    await kit.fake.advance(1);
    expect((await kit.over(lost.id)).error?.reason).toBe(FailureReason.PROVIDER_LOST);

    const again = await openKit({ providers: [provider(({ signal }) => aborted(signal))] });
    const { id } = await again.start();
    await again.until(id, "run.started");
    await again.crash({ providers: [] });
    await again.fake.advance(10_000);
    await again.runtime.addProvider(provider(async () => undefined));
    expect(await again.over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, attempt: 2 });
  });

  test("a remote instance that comes back within the grace goes on with the attempt, without an event", async () => {
    const back = gate<boolean>();
    const remote = (reattach: () => Promise<boolean>) =>
      provider(
        async (context) => {
          if (context.reattached) return { status: "succeeded", finalOutput: `mark ${context.resume?.mark}` };
          await context.emit([], { mark: 7 });
          await context.emit({ case: "outputTextDelta", value: { text: "x" } }, { mark: 6 });
          await aborted(context.signal);
          return undefined;
        },
        { manifest: manifest("test", {}, Topology.REMOTE), reattach },
      );
    const kit = await openKit({ providers: [remote(async () => false)] });
    const { id } = await kit.start();
    await kit.until(id, "output.text.delta");
    await kit.crash({ providers: [remote(() => back.promise)] });
    back.resolve(true);
    expect(await kit.over(id)).toMatchObject({ attempt: 1, finalOutput: "mark 7" });
    expect(await kit.names(id)).not.toContain("run.resumed");
  });

  test("A07 an action that was parked over a restart is answerable exactly once, under its own id", async () => {
    const answers: ActionAnswer[] = [];
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          answers.push(await context.requestAction({ key: "deploy", kind: 1, title: "Deploy?" }));
        }),
      ],
    });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await kit.crash();
    await kit.until(id, "run.resumed");
    expect(await kit.actions()).toEqual([action]);
    await kit.respond(action, { approved: true });
    await expect(kit.respond(action, { approved: true })).rejects.toMatchObject({
      reason: ErrorReason.ACTION_ALREADY_RESOLVED,
    });
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
    expect(answers).toMatchObject([{ actionId: action.id, approved: true, delivered: false }]);
    expect((await kit.names(id)).filter((name) => name === "action.required")).toHaveLength(1);
  });

  test("A07 an answer that comes before the resumed attempt asks is what it gets", async () => {
    const ask = gate();
    const answers: ActionAnswer[] = [];
    const opened: string[] = [];
    const asking = provider(async (context) => {
      if (context.attempt === 2) await ask.promise;
      const onOpen = (actionId: string): void => void opened.push(actionId);
      answers.push(await context.requestAction({ key: "deploy", kind: 1, title: "Deploy?", onOpen }));
    });
    const kit = await openKit({ providers: [asking] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await kit.crash();
    await kit.until(id, "run.resumed");
    await kit.respond(action, { approved: true });
    ask.resolve();
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
    expect(answers).toMatchObject([{ actionId: action.id, approved: true, delivered: false }]);
    expect(opened).toEqual([action.id]);
    expect(only(await kit.events(id), "actionRequired").action?.id).toBe(action.id);
  });

  test("A07 a parked action that a replacing input closed is asked anew under the same key", async () => {
    const answers: ActionAnswer[] = [];
    const asking = provider(async (context) => {
      if (context.attempt === 2 && context.turn === 1) return await aborted(context.signal);
      answers.push(await context.requestAction({ key: "deploy", kind: 1, title: `Deploy in ${context.turn}?` }));
    });
    const kit = await openKit({ providers: [asking] });
    const { id } = await kit.start();
    const parked = await kit.action(id);
    await kit.crash();
    await kit.until(id, "run.resumed");
    await settle();
    await kit.send(id, InputMode.REPLACE, "rather this");
    const anew = await kit.action(id, 1);
    expect(anew).toMatchObject({ title: "Deploy in 2?" });
    expect(anew.id).not.toBe(parked.id);
    await kit.respond(anew, { approved: true });
    expect(await kit.over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, turn: 2 });
    expect(answers).toMatchObject([{ actionId: anew.id, approved: true, delivered: false }]);
  });

  test("A07 where the provider cannot resume, the parked action is closed with an event", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => void (await context.requestAction({ key: "k", kind: 1, title: "?" })), {
          manifest: manifest("test", unresumable),
        }),
      ],
    });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await kit.crash();
    expect((await kit.over(id)).state).toBe(ExecutionState.FAILED);
    expect((await kit.names(id)).slice(-2)).toEqual(["action.abandoned", "run.failed"]);
    await expect(kit.respond(action, { approved: true })).rejects.toMatchObject({ reason: ErrorReason.ACTION_CLOSED });
  });

  describe("A09 a kill between the steps of an answer", () => {
    const isAnswer = (write: Append): boolean => (write.side?.answers ?? []).some(({ delivered }) => !delivered);
    const isDelivery = (write: Append): boolean => (write.side?.answers ?? []).some(({ delivered }) => delivered);
    const steps: Readonly<Record<string, (write: Append) => boolean>> = {
      "before the answer is stored": isAnswer,
      "before delivered is stored": isDelivery,
      "before the next event": (write) => write.chunk !== undefined && write.expected >= 5,
    };

    test.each(Object.keys(steps))("%s: applied at most once, never lost where it was not delivered", async (step) => {
      const applied: string[] = [];
      const kit = await openKit({
        providers: [
          provider(async (context) => {
            const answer = await context.requestAction({ key: "pay", kind: 1, title: "Pay?" });
            if (answer.delivered) return { status: "failed", message: "not known whether it was paid", reason: 3 };
            applied.push(context.execution.id);
            await context.emit({ case: "outputTextDelta", value: { text: "paid" } });
            return undefined;
          }),
        ],
      });
      const { id } = await kit.start();
      const action = await kit.action(id);
      const reached = gate();
      kit.store.tamper = (write) => {
        if (!steps[step]?.(write)) return "pass";
        reached.resolve();
        return new Promise(() => undefined);
      };
      void kit.respond(action, { approved: true });
      await reached.promise;
      await settle();
      await kit.crash();
      await kit.until(id, "run.resumed");
      if (step === "before the answer is stored") await kit.respond(action, { approved: true });
      const over = await kit.over(id);
      expect(applied).toHaveLength(1);
      expect((await kit.names(id)).filter((name) => name === "action.required")).toHaveLength(1);
      expect(over.state).toBe(step === "before the next event" ? ExecutionState.FAILED : ExecutionState.SUCCEEDED);
    });
  });

  test("S02 a store that fails shows nothing that it did not keep; the caller gets STORE_UNAVAILABLE", async () => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal))] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    kit.store.tamper = () => "refuse";
    await expect(kit.start()).rejects.toMatchObject({ reason: ErrorReason.STORE_UNAVAILABLE });
    await expect(kit.send(id, InputMode.STEER, "x")).rejects.toMatchObject({ reason: ErrorReason.STORE_UNAVAILABLE });
    await expect(kit.cancel(id)).rejects.toMatchObject({ reason: ErrorReason.STORE_UNAVAILABLE });
    expect(await kit.names(id)).toEqual(["run.queued", "run.starting", "run.started"]);
    kit.store.tamper = () => "pass";
    await kit.send(id, InputMode.STEER, "x");
    expect((await kit.cancel(id, "", true)).state).toBe(ExecutionState.CANCELLED);
  });

  test("S02 a run whose emission the store refuses ends with an event once the store is back", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          await context.emit({ case: "outputTextDelta", value: { text: "kept" } });
          kit.store.tamper = () => "refuse";
          await context.emit({ case: "outputTextDelta", value: { text: "lost" } });
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "output.text.delta");
    await kit.fake.advance(20_000);
    expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
    kit.store.tamper = () => "pass";
    await kit.fake.advance(5_000);
    const over = await kit.over(id);
    expect(over.state).toBe(ExecutionState.FAILED);
    expect((await kit.names(id)).filter((name) => name === "output.text.delta")).toHaveLength(1);
  });

  test("S02 what is decided behind a write that fails is decided again on what is really there", async () => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal))] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    let refused = 0;
    kit.store.tamper = () => (refused++ === 0 ? "refuse" : "pass");
    const results = await Promise.allSettled(["a", "b", "c"].map((text) => kit.send(id, InputMode.STEER, text)));
    expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    const accepted = (await kit.events(id)).filter(({ payload }) => payload.case === "inputAccepted");
    expect(accepted.map(({ sequence }) => sequence)).toEqual([4, 5]);
    await kit.cancel(id, "", true);
  });

  test("S03 an owner whose execution another has claimed appends nothing more and stops its work", async () => {
    const stopped = gate();
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          await aborted(context.signal);
          stopped.resolve();
        }),
      ],
    });
    const { id } = await kit.start({ timeout: { seconds: 10n, nanos: 0 } });
    await kit.until(id, "run.started");
    await settle();
    const key = { tenantId: "local", executionId: id };
    expect(await kit.store.claim(key, "node-1", kit.clock.now(), kit.clock.now() + 1)).toBe(2);
    await kit.fake.advance(10_000);
    await stopped.promise;
    await settle();
    expect(await kit.names(id)).toEqual(["run.queued", "run.starting", "run.started"]);
    await kit.crash({ providers: [provider(async () => undefined)] });
    expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
  });

  test("closing lets go of what runs; the next start takes it up", async () => {
    const kit = await openKit({ providers: [provider(({ signal }) => aborted(signal))] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    kit.runtime.drain();
    await expect(kit.start()).rejects.toMatchObject({ reason: ErrorReason.SERVER_DRAINING });
    await kit.runtime.close(0);
    await kit.open({ providers: [provider(async () => undefined)] });
    expect(await kit.over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, attempt: 2 });
    expect(only(await kit.events(id), "runResumed").attempt).toBe(2);
  });

  test("closing does not wait for an answer that may also come after the next start", async () => {
    const kit = await openKit();
    const { id } = await kit.script([{ approval: { title: "Go?" } }, { text: "went" }]);
    const action = await kit.action(id);
    await kit.runtime.close(60_000);
    await kit.open();
    await kit.until(id, "run.resumed");
    await kit.respond(action, { approved: true });
    expect(await kit.over(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "went" });
  });

  test("closing waits for what runs beside an open question, and no longer", async () => {
    const done = gate();
    const working = provider(() => done.promise);
    const kit = await openKit({ providers: [working, scriptedProvider()] });
    const waits = await kit.script([{ approval: { title: "Go?" } }]);
    const { id } = await kit.start();
    await kit.action(waits.id);
    await kit.until(id, "run.started");
    const closed = kit.runtime.close(60_000);
    await settle();
    done.resolve();
    await closed;
    await kit.open();
    expect(await kit.get(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, attempt: 1 });
  });

  test("closing waits for the answer to a provider that cannot resume", async () => {
    const unable = provider(
      async (context) => {
        const answer = await context.requestAction({ key: "k", kind: ActionKind.APPROVAL, title: "Go?" });
        return { status: "succeeded", finalOutput: `${answer.approved}` };
      },
      { manifest: manifest("test", unresumable) },
    );
    const kit = await openKit({ providers: [unable] });
    const { id } = await kit.start();
    const action = await kit.action(id);
    await settle();
    const closed = kit.runtime.close(60_000);
    await settle();
    await kit.respond(action, { approved: true });
    await closed;
    await kit.open();
    expect(await kit.get(id)).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "true" });
  });
});
