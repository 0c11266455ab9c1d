import { describe, expect, test } from "vitest";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import type { Provider } from "../../src/core/provider.js";
import { settle } from "./fake-clock.js";
import { aborted, gate, type Kit, only, openKit, provider } from "./kit.js";

const obedient = (more: Partial<Provider> = {}): Provider =>
  provider(async ({ signal }) => {
    await aborted(signal);
    return { status: "cancelled" };
  }, more);

describe("cancellation", () => {
  test("C01 in QUEUED the provider never runs", async () => {
    let runs = 0;
    const kit = await openKit({
      providers: [
        provider(
          async ({ signal }) => {
            runs++;
            await aborted(signal);
          },
          { capacity: 1 },
        ),
      ],
    });
    const first = await kit.start();
    await kit.until(first.id, "run.started");
    const second = await kit.start();
    const cancelled = await kit.cancel(second.id, "not needed");
    expect(cancelled).toMatchObject({ state: ExecutionState.CANCELLED, cancel: { reason: "not needed" } });
    expect(await kit.names(second.id)).toEqual(["run.queued", "run.cancelling", "run.cancelled"]);
    await kit.cancel(first.id, "", true);
    expect(runs).toBe(1);
  });

  test("C01 right after the start, the provider is not entered", async () => {
    let entered = false;
    const kit = await openKit({
      providers: [
        provider(async () => {
          entered = true;
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.cancel(id, "", true);
    await settle();
    expect(entered).toBe(false);
  });

  test("C01 in STARTING", async () => {
    const kit = await openKit({ providers: [obedient({ start: ({ signal }) => aborted(signal) })] });
    const { id } = await kit.start();
    await kit.until(id, "run.starting");
    await settle();
    await kit.cancel(id, "", true);
    expect(await kit.names(id)).toEqual(["run.queued", "run.starting", "run.cancelling", "run.cancelled"]);
  });

  test.each([1, 2])("C01 while an action of kind %i is open", async (kind) => {
    const kit = await openKit({
      providers: [provider(async (context) => void (await context.requestAction({ key: "k", kind, title: "?" })))],
    });
    const { id } = await kit.start();
    await kit.action(id);
    await kit.cancel(id, "", true);
    expect((await kit.names(id)).slice(-3)).toEqual(["run.cancelling", "action.abandoned", "run.cancelled"]);
  });

  test.each(Array.from({ length: 20 }, (_, delay) => delay))(
    "C01 after %i turns of the event loop: one terminal event",
    async (delay) => {
      const kit = await openKit();
      const { id } = await kit.script([{ text: "a" }, { approval: { key: "k", title: "?" } }, { text: "b" }]);
      for (let turn = 0; turn < delay; turn++) await new Promise((resolve) => setImmediate(resolve));
      const over = await kit.cancel(id, "stop", true);
      expect(over.state).toBe(ExecutionState.CANCELLED);
      expect((await kit.names(id)).filter((name) => name === "run.cancelled")).toHaveLength(1);
    },
  );

  test("C02 50 concurrent cancels: one hook call, one run_cancelled, the first reason everywhere", async () => {
    let calls = 0;
    const kit = await openKit({
      providers: [
        obedient({
          async cancel(_, reason) {
            calls++;
            expect(reason).toBe("reason 0");
            return undefined;
          },
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    await Promise.all(Array.from({ length: 50 }, (_, index) => kit.cancel(id, `reason ${index}`, true)));
    expect(calls).toBe(1);
    const events = await kit.events(id);
    expect(only(events, "runCancelling").reason).toBe("reason 0");
    expect(only(events, "runCancelled").reason).toBe("reason 0");
    expect((await kit.get(id)).cancel).toMatchObject({ reason: "reason 0", principal: { userId: "tester" } });
  });

  test("C03 a hook that throws: CANCELLED with cleanup_error", async () => {
    const kit = await openKit({
      providers: [
        obedient({
          async cancel() {
            throw new Error("the process would not die");
          },
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    const over = await kit.cancel(id, "", true);
    expect(over).toMatchObject({
      state: ExecutionState.CANCELLED,
      cancel: { cleanupError: "the process would not die" },
    });
    expect(only(await kit.events(id), "runCancelled").cleanupError).toBe("the process would not die");
  });

  test.each([
    ["hook", obedient({ cancel: () => new Promise(() => undefined) }), "cancel hook did not return"],
    ["turn", provider(() => new Promise(() => undefined)), "did not stop"],
  ])("C03 a %s that never settles: CANCELLED within the bound, with cleanup_error", async (_, stubborn, error) => {
    const kit = await openKit({ providers: [{ ...stubborn, cancelTimeoutMs: 10_000 }] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    await kit.cancel(id);
    await kit.fake.advance(9_999);
    expect((await kit.get(id)).state).toBe(ExecutionState.CANCELLING);
    await kit.fake.advance(1);
    const over = await kit.over(id);
    expect(over.state).toBe(ExecutionState.CANCELLED);
    expect(over.cancel?.cleanupError).toContain(error);
  });

  test("C03 a clock that is set back while the hook runs makes the bound no longer", async () => {
    const cancel = async () => {
      kit.fake.setBack(3_600_000);
      return undefined;
    };
    const stubborn = provider(() => new Promise(() => undefined), { cancel, cancelTimeoutMs: 10_000 });
    const kit = await openKit({ providers: [stubborn] });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await settle();
    await kit.cancel(id);
    await settle();
    await kit.fake.advance(10_000);
    expect((await kit.get(id)).state).toBe(ExecutionState.CANCELLED);
  });

  test("C03 the hook is told what the execution ends for, also where its turn was being replaced", async () => {
    const whys: string[] = [];
    const stopping = gate();
    const hold = gate();
    const kit = await openKit({
      providers: [
        provider(
          async (context) => {
            if (context.input.text === "fail") throw new Error("no");
            await aborted(context.signal);
            if (context.input.text === "replace") {
              stopping.resolve();
              await hold.promise;
            }
            return { status: "cancelled" };
          },
          {
            async cancel(_, __, why) {
              whys.push(why);
              return undefined;
            },
          },
        ),
      ],
    });
    await kit.over((await kit.start({ input: { text: "fail" } })).id);
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    await kit.cancel(id, "", true);
    const replaced = await kit.start({ input: { text: "replace" } });
    await kit.until(replaced.id, "run.started");
    await kit.send(replaced.id, InputMode.REPLACE, "new");
    await stopping.promise;
    const closed = kit.runtime.close(0);
    await settle();
    hold.resolve();
    await closed;
    expect(whys).toEqual(["failed", "cancelled", "released"]);
  });

  test("C04 a success that is returned after the abort ends CANCELLED", async () => {
    const kit = await openKit({
      providers: [
        provider(async ({ signal }) => {
          await aborted(signal);
          return { status: "succeeded", finalOutput: "too late" };
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.until(id, "run.started");
    const over = await kit.cancel(id, "", true);
    expect(over).toMatchObject({ state: ExecutionState.CANCELLED });
    expect(over.finalOutput).toBeUndefined();
  });

  test("C04 a cancel after the end changes nothing", async () => {
    const kit = await openKit();
    const { id } = await kit.start();
    const before = await kit.over(id);
    expect(await kit.cancel(id, "late", true)).toEqual(before);
    expect(await kit.get(id)).toEqual(before);
  });

  test("C06 closing every watcher cancels nothing; cancel_after does, after its grace and not when somebody came back", async () => {
    const kit = await openKit({ providers: [obedient()] });
    const orphanPolicy = { cancelAfter: { seconds: 10n, nanos: 0 } };
    const plain = await kit.start();
    const { id } = await kit.start({ orphanPolicy });
    const watcher = kit.batches(id);
    await watcher.next();
    await kit.fake.advance(60_000);
    await watcher.return(undefined);
    await kit.fake.advance(9_000);
    const back = kit.batches(id);
    await back.next();
    await kit.fake.advance(60_000);
    expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
    await back.return(undefined);
    await kit.fake.advance(10_000);
    expect(await kit.over(id)).toMatchObject({ state: ExecutionState.CANCELLED });
    expect((await kit.get(plain.id)).state).toBe(ExecutionState.RUNNING);
    await kit.cancel(plain.id, "", true);
  });

  test("C06 an execution that nobody ever watched is cancelled after its grace, which starts anew after a restart", async () => {
    const kit = await openKit({ providers: [obedient()] });
    const { id } = await kit.start({ orphanPolicy: { cancelAfter: { seconds: 10n, nanos: 0 } } });
    await kit.fake.advance(9_000);
    await kit.crash();
    await kit.fake.advance(9_000);
    expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
    await kit.fake.advance(1_000);
    expect((await kit.over(id)).state).toBe(ExecutionState.CANCELLED);
  });

  test("C07 cancelling a parent cancels its children, and theirs; a parent that ends otherwise leaves them", async () => {
    const end = gate();
    const kit = await openKit({
      providers: [
        provider(async ({ signal, input }) => {
          await (input.text === "ends" ? end.promise : aborted(signal));
        }),
      ],
    });
    const parent = await kit.start();
    const child = await kit.start({ parentExecutionId: parent.id });
    const grandchild = await kit.start({ parentExecutionId: child.id });
    expect([child.rootExecutionId, grandchild.rootExecutionId]).toEqual([parent.id, parent.id]);
    for (const { id } of [parent, child, grandchild]) await kit.until(id, "run.started");
    await kit.cancel(parent.id, "all of it", true);
    for (const { id } of [child, grandchild]) expect((await kit.over(id)).state).toBe(ExecutionState.CANCELLED);

    const other = await kit.start({ input: { text: "ends" } });
    const left = await kit.start({ parentExecutionId: other.id });
    await kit.until(left.id, "run.started");
    end.resolve();
    expect((await kit.over(other.id)).state).toBe(ExecutionState.SUCCEEDED);
    await settle();
    expect((await kit.get(left.id)).state).toBe(ExecutionState.RUNNING);
    await kit.cancel(left.id, "", true);
  });

  test("C07 also when a crash came between", async () => {
    const kit = await openKit({ providers: [obedient()] });
    const parent = await kit.start();
    const child = await kit.start({ parentExecutionId: parent.id });
    for (const { id } of [parent, child]) await kit.until(id, "run.started");
    await settle();
    kit.store.tamper = ({ key }) => (key.executionId === child.id ? new Promise(() => undefined) : "pass");
    await kit.cancel(parent.id, "all of it", true);
    await kit.crash();
    expect((await kit.over(child.id)).state).toBe(ExecutionState.CANCELLED);
  });

  test("a failure that is waiting for its cleanup loses to nothing but a cancel", async () => {
    const kit: Kit = await openKit({
      providers: [
        provider(async () => {
          throw new Error("first");
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over.error).toMatchObject({ reason: FailureReason.PROVIDER_ERROR, message: "first" });
  });
});

describe("artifacts", () => {
  const artifact = { id: "a1", name: "report.txt", mediaType: "text/plain", uri: "file:///tmp/report.txt" };

  test("F01 one artifact_created a listed artifact, in order, with equal data", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          for (const id of ["b", "a", "c"]) await context.artifact({ ...artifact, id });
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.over(id);
    const created = (await kit.events(id)).flatMap(({ payload }) =>
      payload.case === "artifactCreated" ? [payload.value.artifact] : [],
    );
    const { artifacts } = await kit.runtime.listArtifacts({ tenantId: "local", userId: "x" }, {
      executionId: id,
      pageSize: 0,
      pageToken: "",
    } as never);
    expect(artifacts).toEqual(created);
    expect(artifacts.map(({ id: artifactId }) => artifactId)).toEqual(["b", "a", "c"]);
    expect(await kit.runtime.getArtifact({ tenantId: "local", userId: "x" }, id, "a")).toEqual(created[1]);
  });

  test.each([
    ["a missing name", { ...artifact, name: "" }],
    ["a missing media type", { ...artifact, mediaType: "" }],
    ["a missing id", { ...artifact, id: "" }],
    ["a duplicate id", artifact],
  ])("F01 %s: nothing listed twice, FAILED", async (_, second) => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          await context.artifact(artifact);
          await context.artifact(second).catch(() => undefined);
        }),
      ],
    });
    const over = await kit.over((await kit.start()).id);
    expect(over.error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
    expect((await kit.names(over.id)).filter((name) => name === "artifact.created")).toHaveLength(1);
  });

  test("F01 the same id in two executions is fine", async () => {
    const kit = await openKit({ providers: [provider((context) => context.artifact(artifact))] });
    for (const { id } of [await kit.start(), await kit.start()]) {
      expect((await kit.over(id)).state).toBe(ExecutionState.SUCCEEDED);
    }
  });
});
