import { describe, expect, test } from "vitest";
import { ActionKind } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { CompletionAction } from "../../../gen/ts/harnessruntime/v1/result_events_pb.js";
import type { ProviderContext, ProviderEvent, ResumeInfo } from "../../../src/core/provider.js";
import { aborted, gate } from "../../core/kit.js";
import { define, GRACE_MS, openRemoteKit, remoteManifest } from "./kit.js";

const { CANCELLED, FAILED, SUCCEEDED, QUEUED } = ExecutionState;

function delta(text: string): ProviderEvent {
  return { case: "outputTextDelta", value: { text } };
}

describe("a turn", () => {
  test("runs on the instance: events are appended in order, and its end is the execution's", async () => {
    const { kit, ...remote } = await opened(async (context) => {
      await context.emit([delta("a"), delta("b")]);
      await context.emit(delta(context.input.text));
      return { status: "succeeded", structuredOutput: { ok: true } };
    });
    const { id } = await remote.start({ input: { text: "c" } });
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: "abc" });
    expect(await kit.names(id)).toEqual([
      "run.queued",
      "run.starting",
      "run.started",
      "output.text.delta",
      "output.text.delta",
      "output.text.delta",
      "output.text.done",
      "run.completed",
    ]);
  });

  test("that is a revision says which one it is", async () => {
    const seen: unknown[] = [];
    const { kit, ...remote } = await opened(async ({ turn, revision }) => {
      seen.push([turn, revision]);
      const evaluation = { action: CompletionAction.REVISE, reason: "", instruction: "shorter" };
      return turn < 3 ? { status: "succeeded", evaluation } : { status: "succeeded" };
    });
    const { id } = await remote.start();
    await kit.over(id);
    expect(seen).toEqual([
      [1, 0],
      [2, 1],
      [3, 2],
    ]);
  });

  test.each([
    ["fails", async () => ({ status: "failed", message: "no" }) as const, FailureReason.PROVIDER_ERROR, "no"],
    [
      "throws",
      async () => {
        throw new Error("boom");
      },
      FailureReason.PROVIDER_ERROR,
      "boom",
    ],
    [
      "emits what only the runtime may",
      async (context: ProviderContext) => {
        await context.emit({ case: "runCompleted", value: {} } as unknown as ProviderEvent).catch(() => undefined);
        return undefined;
      },
      FailureReason.PROVIDER_PROTOCOL_VIOLATION,
      expect.stringContaining("run.completed"),
    ],
  ])("that %s fails the execution, and says why", async (_, run, reason, message) => {
    const { kit, ...remote } = await opened(run);
    const { id } = await remote.start();
    expect(await kit.over(id)).toMatchObject({ state: FAILED, error: { reason, message } });
  });

  test("is followed by the next one, with what was sent meanwhile", async () => {
    const running = gate();
    const go = gate();
    const inputs: string[] = [];
    const { kit, ...remote } = await opened(async (context) => {
      inputs.push(context.input.text);
      running.resolve();
      if (context.turn === 1) await go.promise;
      await context.emit(delta(`turn ${context.turn}`));
      return undefined;
    });
    const { id } = await remote.start();
    await running.promise;
    await kit.send(id, InputMode.FOLLOW_UP, "more");
    go.resolve();
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: "turn 2", turn: 2 });
    expect(inputs).toEqual(["hello", "more"]);
    await remote.idle(remote.connection);
  });

  test("N01 gets its steers in order, and a replacing input ends it", async () => {
    const steers: string[] = [];
    const { kit, ...remote } = await opened(async (context) => {
      for await (const steer of context.steers()) {
        steers.push(steer.text);
        await context.emit(delta(steer.text));
      }
      await context.emit(delta(context.signal.aborted ? "-" : "+"));
      return context.turn === 1 ? { status: "cancelled" } : undefined;
    });
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    await kit.send(id, InputMode.STEER, "a");
    await kit.send(id, InputMode.STEER, "b");
    await kit.until(id, "output.text.delta", 1);
    await kit.send(id, InputMode.REPLACE, "new");
    await kit.until(id, "input.consumed", 2);
    await kit.send(id, InputMode.STEER, "c");
    await kit.until(id, "output.text.delta", 3);
    await kit.cancel(id);
    expect(await kit.over(id)).toMatchObject({ state: CANCELLED, turn: 2 });
    expect(steers).toEqual(["a", "b", "c"]);
  });

  test("F01 announces artifacts with its events in one write", async () => {
    const { kit, ...remote } = await opened(async (context) => {
      await context.artifact({ id: "one", name: "one.txt", mediaType: "text/plain" });
      await context.artifact({ id: "one", name: "one.txt", mediaType: "text/plain" }).catch(() => undefined);
      return undefined;
    });
    const { id } = await remote.start();
    const { error } = await kit.over(id);
    expect(error?.reason).toBe(FailureReason.PROVIDER_PROTOCOL_VIOLATION);
    expect((await kit.names(id)).filter((name) => name === "artifact.created")).toHaveLength(1);
  });
});

describe("an action", () => {
  test("A02 is answered once, with the whole answer", async () => {
    const { kit, ...remote } = await opened(async (context) => {
      const yes = await context.requestAction({ key: "a", kind: ActionKind.APPROVAL, title: "May I?" });
      const value = await context.requestAction({ key: "b", kind: ActionKind.INPUT, title: "What?" });
      await context.emit(delta(`${yes.approved} ${yes.delivered} ${JSON.stringify(value.value)}`));
      return undefined;
    });
    const { id } = await remote.start();
    await kit.respond(await kit.action(id), { approved: true });
    await kit.respond(await kit.action(id, 1), { value: { kind: { case: "stringValue", value: "so" } } });
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: 'true false "so"' });
  });

  test("waits behind the open one, and is abandoned with the turn", async () => {
    const ends: string[] = [];
    const { kit, ...remote } = await opened(async (context) => {
      const keys = ["a", "b"];
      const asked = keys.map((key) =>
        context.requestAction({ key, kind: ActionKind.APPROVAL, title: key }).then(
          () => ends.push(`${key} answered`),
          () => ends.push(`${key} abandoned`),
        ),
      );
      await Promise.all(asked);
      return undefined;
    });
    const { id } = await remote.start();
    await kit.respond(await kit.action(id), { approved: true });
    await kit.action(id, 1);
    await kit.cancel(id);
    expect((await kit.over(id)).state).toBe(CANCELLED);
    expect(ends).toEqual(["a answered", "b abandoned"]);
  });

  test("whose answer ends the wait for input begins the next turn", async () => {
    const { kit, ...remote } = await opened(async (context) => {
      if (context.turn === 1) return { status: "awaiting_input", request: { key: "name", title: "Your name?" } };
      await context.emit(delta(`hello ${context.input.text}`));
      return undefined;
    });
    const { id } = await remote.start();
    await kit.respond(await kit.action(id), { value: { kind: { case: "stringValue", value: "Ada" } } });
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: "hello Ada", turn: 2 });
  });
});

describe("a cancel", () => {
  test("C02 ends the work on the instance before the execution is CANCELLED", async () => {
    let cancels = 0;
    const { kit, ...remote } = await opened(
      async (context) => {
        await aborted(context.signal);
        return { status: "cancelled" };
      },
      {
        async cancel() {
          cancels++;
          return { error: "a file is left" };
        },
      },
    );
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    await Promise.all([kit.cancel(id, "first"), kit.cancel(id, "second")]);
    const execution = await kit.over(id);
    expect(execution).toMatchObject({ state: CANCELLED, cancel: { reason: "first", cleanupError: "a file is left" } });
    expect(cancels).toBe(1);
    await remote.idle(remote.connection);
  });

  test("C03 that the instance never confirms ends within the limit, and says so", async () => {
    const { kit, ...remote } = await opened(() => new Promise(() => undefined));
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    await kit.cancel(id);
    await kit.fake.advance(10_000);
    const { state, cancel } = await kit.over(id);
    expect(state).toBe(CANCELLED);
    expect(cancel?.cleanupError).toMatch(/did not confirm within 10000 ms/);
  });
});

describe("a broken stream", () => {
  test("loses and doubles nothing where it comes back within the grace", async () => {
    const { kit, wire, ...remote } = await opened(async (context) => {
      for (let index = 0; index < 20; index++) {
        if (index % 3 === 1) wire.cut({ up: index % 2, down: 0 });
        await context.emit(delta(`${index} `));
      }
      return undefined;
    });
    const { id } = await remote.start();
    const numbers = Array.from({ length: 20 }, (_, index) => `${index} `).join("");
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: numbers, attempt: 1 });
  });

  test("gives answers, steers and a cancel again that were lost on their way", async () => {
    const { kit, wire, ...remote } = await opened(async (context) => {
      const steers = context.steers()[Symbol.asyncIterator]();
      const { approved } = await context.requestAction({ key: "a", kind: ActionKind.APPROVAL, title: "May I?" });
      const steer = await steers.next();
      await context.emit(delta(`${approved} ${steer.value?.text}`));
      await aborted(context.signal);
      return { status: "cancelled" };
    });
    const { id } = await remote.start();
    const action = await kit.action(id);
    wire.onDown = (message) => message.case !== "actionAnswer";
    await kit.respond(action, { approved: true });
    await kit.until(id, "action.responded");
    wire.cut();
    wire.onDown = (message) => message.case !== "input";
    await kit.send(id, InputMode.STEER, "left");
    await kit.until(id, "input.consumed");
    wire.cut();
    wire.onDown = () => true;
    await kit.until(id, "output.text.delta");
    wire.onDown = (message) => message.case !== "cancel";
    await kit.cancel(id);
    await kit.until(id, "run.cancelling");
    wire.cut();
    wire.onDown = () => true;
    expect(await kit.over(id)).toMatchObject({ state: CANCELLED, cancel: { cleanupError: "" } });
    const texts = (await kit.events(id)).flatMap(({ payload }) =>
      payload.case === "outputTextDelta" ? [payload.value.text] : [],
    );
    expect(texts).toEqual(["true left"]);
  });

  test("is PROVIDER_LOST after the grace where the provider cannot resume", async () => {
    const { kit, wire, connection, ...remote } = await opened(
      async (context) => {
        await context.emit(delta("kept"));
        await aborted(context.signal);
        return undefined;
      },
      { manifest: remoteManifest({ "execution.resume": SupportLevel.UNSUPPORTED }) },
    );
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    wire.isDown = true;
    wire.cut();
    await remote.available(false);
    await expect(remote.start()).rejects.toMatchObject({ message: expect.stringContaining("no instance") });
    await kit.fake.advance(GRACE_MS - 1);
    expect((await kit.get(id)).state).toBe(ExecutionState.RUNNING);
    await kit.fake.advance(1);
    expect(await kit.over(id)).toMatchObject({ state: FAILED, error: { reason: FailureReason.PROVIDER_LOST } });
    await remote.idle(connection);
  });

  test("is followed by the next attempt on another instance where the provider can resume", async () => {
    const resumed = gate<ResumeInfo | undefined>();
    const remote = await openRemoteKit();
    const { kit, wire } = remote;
    const first = await remote.connect(
      define(async (context) => {
        context.saveResumeState(new TextEncoder().encode("at 1"));
        await context.emit(delta("one "));
        await aborted(context.signal);
        return undefined;
      }),
    );
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    wire.isDown = true;
    wire.cut();
    await remote.available(false);
    void first.close();
    wire.isDown = false;
    await remote.connect(
      define(async (context) => {
        resumed.resolve(context.resume);
        await context.emit(delta("two"));
        return undefined;
      }),
    );
    await kit.fake.advance(GRACE_MS);
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: "one two", attempt: 2 });
    const resume = await resumed.promise;
    expect(new TextDecoder().decode(resume?.state)).toBe("at 1");
    expect(resume).toMatchObject({ attempt: 2, turn: 1, lastSequence: 4 });
    expect(await kit.names(id)).toContain("run.resumed");
  });

  test("of an instance that says nothing more is found by its silence", async () => {
    const { kit, wire, ...remote } = await opened(async (context) => {
      await aborted(context.signal);
      return undefined;
    });
    await kit.fake.advance(120_000);
    expect(wire.size).toBe(1);
    wire.stick();
    await kit.fake.advance(30_000);
    await remote.available(true);
    expect(wire.size).toBe(1);
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    await kit.cancel(id, "", true);
  });
});

describe("a restart of the runtime", () => {
  test("goes on with the attempt that never stopped, with nothing lost or doubled", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const go = gate();
    await remote.connect(
      define(async (context) => {
        await context.emit(delta("one "));
        const answer = context.requestAction({ key: "a", kind: ActionKind.APPROVAL, title: "May I?" });
        await go.promise;
        await context.emit(delta("two "));
        await context.emit(delta(`${(await answer).approved}`));
        return undefined;
      }),
    );
    const { id } = await remote.start();
    const action = await kit.action(id);
    await remote.crash();
    go.resolve();
    await kit.until(id, "output.text.delta", 1);
    await kit.respond(action, { approved: true });
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: "one two true", attempt: 1 });
    expect(await kit.names(id)).not.toContain("run.resumed");
  });

  test("tells an instance to stop what was CANCELLING", async () => {
    const remote = await openRemoteKit();
    const { kit, wire } = remote;
    const ended = gate();
    await remote.connect(
      define(async (context) => {
        await aborted(context.signal);
        ended.resolve();
        return undefined;
      }),
    );
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    wire.onDown = (message) => message.case !== "cancel";
    await kit.cancel(id, "enough");
    await kit.until(id, "run.cancelling");
    await remote.crash();
    wire.onDown = () => true;
    expect(await kit.over(id)).toMatchObject({ state: CANCELLED, cancel: { reason: "enough", cleanupError: "" } });
    await ended.promise;
  });

  test("is answered again about an end that it did not keep", async () => {
    const remote = await openRemoteKit();
    const { kit, wire } = remote;
    const connection = await remote.connect(
      define(async (context) => {
        await context.emit(delta("all"));
        return undefined;
      }),
    );
    wire.onUp = (message) => message.case !== "finish";
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    await remote.crash();
    wire.onUp = () => true;
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: "all", attempt: 1 });
    await remote.idle(connection);
  });

  test("whose instance never comes back is PROVIDER_LOST after the grace", async () => {
    const { kit, wire, ...remote } = await opened(async (context) => {
      await context.emit(delta("kept"));
      await aborted(context.signal);
      return undefined;
    });
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    await remote.remote.crash();
    wire.isDown = true;
    wire.cut();
    await kit.fake.advance(4 * GRACE_MS);
    expect(await kit.over(id)).toMatchObject({ state: FAILED, error: { reason: FailureReason.PROVIDER_LOST } });
  });

  test("that was announced lets running work go on elsewhere", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const go = gate();
    await remote.connect(
      define(async (context) => {
        await context.emit(delta("one "));
        await go.promise;
        await context.emit(delta("two"));
        return undefined;
      }),
    );
    const { id } = await remote.start();
    await kit.until(id, "output.text.delta");
    await kit.runtime.close(0);
    await remote.crash();
    go.resolve();
    expect(await kit.over(id)).toMatchObject({ state: SUCCEEDED, finalOutput: "one two", attempt: 1 });
  });
});

describe("instances", () => {
  test("share the load by capacity; what is over it stays QUEUED", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const ran: string[] = [];
    const go = gate();
    for (const [name, capacity] of [
      ["small", 1],
      ["large", 3],
    ] as const) {
      await remote.connect(
        define(
          async () => {
            ran.push(name);
            await go.promise;
            return undefined;
          },
          { capacity },
        ),
      );
    }
    const started = await Promise.all(Array.from({ length: 5 }, () => remote.start()));
    await Promise.all(started.slice(0, 4).map(({ id }) => kit.until(id, "run.started")));
    expect(kit.runtime.getProvider("remote")).toMatchObject({ capacity: 4, activeExecutions: 4, available: true });
    expect((await kit.get(started[4]?.id ?? "")).state).toBe(QUEUED);
    go.resolve();
    for (const { id } of started) expect((await kit.over(id)).state).toBe(SUCCEEDED);
    expect(ran.toSorted().slice(0, 3)).toEqual(["large", "large", "large"]);
    expect(ran).toContain("small");
  });

  test("that drain take no more and finish what they have", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const go = gate();
    const first = await remote.connect(
      define(async () => {
        await go.promise;
        return { status: "succeeded", finalOutput: "first" };
      }),
    );
    const { id } = await remote.start();
    await kit.until(id, "run.started");
    const drained = first.drain();
    await remote.available(false);
    await remote.connect(define(async () => ({ status: "succeeded", finalOutput: "second" })));
    expect((await kit.over((await remote.start()).id)).finalOutput).toBe("second");
    go.resolve();
    expect((await kit.over(id)).finalOutput).toBe("first");
    await drained;
  });

  test("of a newer version take what is new; an older one that comes back does not", async () => {
    const remote = await openRemoteKit();
    const { kit, wire } = remote;
    const version = (name: string) =>
      define(async () => ({ status: "succeeded", finalOutput: name }), { manifest: remoteManifest({}, name) });
    await remote.connect(version("1"));
    await remote.connect(version("2"));
    expect(kit.runtime.getProvider("remote").manifest?.version).toBe("2");
    expect((await kit.over((await remote.start()).id)).finalOutput).toBe("2");
    wire.cut();
    await remote.advanceUntil("both are back", () => wire.size === 2);
    expect((await kit.over((await remote.start()).id)).finalOutput).toBe("2");
  });

  test("keep their conversations where the provider keeps them", async () => {
    const remote = await openRemoteKit();
    const { kit } = remote;
    const manifest = remoteManifest({ "conversation.continuity": SupportLevel.NATIVE });
    for (const name of ["a", "b"]) {
      await remote.connect(define(async () => ({ status: "succeeded", finalOutput: name }), { manifest, capacity: 4 }));
    }
    const { id, conversationId } = await remote.start();
    const { finalOutput } = await kit.over(id);
    for (let round = 0; round < 5; round++) {
      const next = await remote.start({ conversationId });
      expect((await kit.over(next.id)).finalOutput).toBe(finalOutput);
    }
  });
});

/** Opens a kit with one connected provider. */
async function opened(run: (context: ProviderContext) => ReturnType<Parameters<typeof define>[0]>, more = {}) {
  const remote = await openRemoteKit();
  const connection = await remote.connect(define(run, more));
  return {
    remote,
    kit: remote.kit,
    wire: remote.wire,
    connection,
    start: remote.start.bind(remote),
    available: remote.available.bind(remote),
    idle: remote.idle.bind(remote),
  };
}
