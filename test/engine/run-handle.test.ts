import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import {
  type ChatMessage,
  type HarnessEvent,
  HarnessEventGapError,
  type HarnessExecutionServices,
  type HarnessRuntimeConfig,
  HarnessUnsupportedError,
} from "../../src/engine.js";
import {
  driver,
  eventOf,
  eventsOf,
  ManualClock,
  model,
  OPTIONS,
  runOnce,
  runtimeOf,
  tool,
  untilAborted,
} from "./fixtures.js";

describe("events", () => {
  test("E10 viewers are independent, their cursor is exclusive and they end after the terminal event", async () => {
    const runtime = runtimeOf((services) => {
      for (const text of ["a", "b", "c"]) services.emit({ type: "output.text.delta", text });
      return "abc";
    });
    const handle = runtime.start("hi", OPTIONS);
    const [all, same] = await Promise.all([eventsOf(handle), eventsOf(handle)]);
    expect(same).toEqual(all);
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => index + 1));
    const rest: HarnessEvent[] = [];
    for await (const event of handle.events({ after: 4 })) rest.push(event);
    expect(rest).toEqual(all.slice(4));
    const head = all.length;
    expect(await handle.events({ after: head }).next()).toEqual({ done: true, value: undefined });
  });

  test.each([-1, 1.5, Number.NaN, 99])("E11 a cursor of %s throws at once", async (after) => {
    const handle = runtimeOf(() => "ok").start("hi", OPTIONS);
    await handle.result();
    expect(() => handle.events({ after })).toThrow();
    if (after === 99)
      expect(() => handle.events({ after })).toThrow(expect.objectContaining({ reason: ErrorReason.CURSOR_AHEAD }));
  });

  test("E12 events keep their order under concurrent next(), and closing one viewer touches no other", async () => {
    const runtime = runtimeOf((services) => {
      for (let index = 0; index < 20; index++) services.emit({ type: "output.text.delta", text: `${index}` });
      return "ok";
    });
    const handle = runtime.start("hi", OPTIONS);
    const first = handle.events();
    const other = handle.events();
    const taken = await Promise.all(Array.from({ length: 10 }, () => first.next()));
    expect(taken.map(({ value }) => value?.sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    await first.return(undefined);
    let count = 0;
    for await (const _ of other) count++;
    expect(count).toBe((await handle.result()).finalCursor);
  });

  test("E13 unset, the whole log is kept; with a capacity a viewer behind it gets a gap with the earliest cursor", async () => {
    const chatty = driver((services) => {
      for (let index = 0; index < 300; index++) services.emit({ type: "output.text.delta", text: "x" });
      return "ok";
    });
    const whole = runtimeOf(chatty).start("hi", OPTIONS);
    const { finalCursor } = await whole.result();
    expect((await eventsOf(whole)).length).toBe(finalCursor);
    const handle = runtimeOf(chatty, { eventCapacity: 10 }).start("hi", OPTIONS);
    await handle.result();
    const error = await handle
      .events()
      .next()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HarnessEventGapError);
    expect(error).toMatchObject({ code: "event_gap", earliestCursor: finalCursor - 10 });
    const kept: number[] = [];
    for await (const { sequence } of handle.events({ after: finalCursor - 10 })) kept.push(sequence);
    expect(kept.length).toBe(10);
  });
});

describe("result", () => {
  test("E14 a run's failure never rejects, is a fresh clone each time and equals the terminal event", async () => {
    const handle = runtimeOf(() => Promise.reject(new Error("broken"))).start("hi", OPTIONS);
    const result = await handle.result();
    expect(result).toMatchObject({ status: "failed", reason: { code: "execution_failed", message: "broken" } });
    expect(await handle.result()).toEqual(result);
    expect(await handle.result()).not.toBe(result);
    const last = (await eventsOf(handle)).at(-1)?.payload;
    expect(last).toEqual({ type: "run.terminal", result });
  });

  test.each([
    ["failed", "budget_exhausted", "stopped", "budget_exhausted"],
    ["failed", "deadline_exceeded", "failed", "deadline_exceeded"],
    ["failed", "ENOENT", "failed", "execution_failed"],
    ["failed", 42, "failed", "execution_failed"],
    ["failed", "session_conflict", "failed", "session_conflict"],
    ["stopped", "revision_limit", "stopped", "revision_limit"],
    ["stopped", "whatever", "stopped", "policy_stopped"],
    ["cancelled", "x", "failed", "execution_failed"],
  ] as const)("E15 a driver's %s with the code %s is %s with %s", async (status, code, expected, expectedCode) => {
    const result = await runOnce(() => ({ status, text: "so far", reason: { code: code as string, message: "why" } }));
    expect(result).toMatchObject({ status: expected, reason: { code: expectedCode } });
    if (status !== "cancelled") expect(result.text).toBe("so far");
  });

  test.each([
    ["no output", undefined],
    ["no text", {}],
    ["an unknown status", { text: "x", status: "fine" }],
    ["a structured value that is no JSON", { text: "x", structured: { at: Number.NaN } }],
    ["negative usage", { text: "x", usage: { promptTokens: -1, completionTokens: 0, totalTokens: 0 } }],
    ["an artifact with no id", { text: "x", artifacts: [{}] }],
  ])("E16 a driver that returns %s fails its run", async (_what, output) => {
    expect(await runOnce(() => output as never)).toMatchObject({
      status: "failed",
      reason: { code: "execution_failed" },
    });
  });
});

describe("cancel", () => {
  test("E17 the first reason wins, and cancelling a run that is over changes nothing", async () => {
    const runtime = runtimeOf((_services, { signal }) => untilAborted(signal));
    const handle = runtime.start("hi", OPTIONS);
    await eventOf(handle, "run.started");
    handle.cancel("first");
    handle.cancel("second");
    const result = await handle.result();
    expect(result).toMatchObject({ status: "cancelled", reason: { code: "cancelled", message: "first" } });
    handle.cancel("third");
    expect(await handle.result()).toEqual(result);
  });

  test("E18 the result waits for the driver and all owned work to settle", async () => {
    const order: string[] = [];
    const release = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const runtime = runtimeOf(
      async (services, { signal }) => {
        void services.runOwned(async () => {
          await release.promise;
          order.push("owned");
        });
        entered.resolve();
        await untilAborted(signal).catch(() => {});
        order.push("driver");
        return "late";
      },
      { cleanupTimeoutMs: 60_000 },
    );
    const handle = runtime.start("hi", OPTIONS);
    await entered.promise;
    handle.cancel();
    const result = handle.result().finally(() => order.push("result"));
    await eventOf(handle, "run.cancelling");
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual(["driver"]);
    release.resolve();
    expect((await result).status).toBe("cancelled");
    expect(order).toEqual(["driver", "owned", "result"]);
  });

  test("E19 a driver that never ends is reported after the configured bound", async () => {
    const entered = Promise.withResolvers<void>();
    const script = (): Promise<never> => {
      entered.resolve();
      return new Promise(() => {});
    };
    const handle = runtimeOf(script, { cleanupTimeoutMs: 50 }).start("hi", OPTIONS);
    await entered.promise;
    handle.cancel();
    const result = await handle.result();
    expect(result.status).toBe("cancelled");
    expect(result.cleanupDiagnostics).toEqual([expect.stringContaining("did not end within 50 ms")]);
  });

  test("E20 a signal that is aborted cancels the run", async () => {
    const abort = new AbortController();
    const runtime = runtimeOf((_services, { signal }) => untilAborted(signal));
    const handle = runtime.start("hi", { ...OPTIONS, signal: abort.signal });
    await eventOf(handle, "run.started");
    abort.abort(new Error("the page was left"));
    expect(await handle.result()).toMatchObject({ status: "cancelled", reason: { message: "the page was left" } });
  });
});

describe("send", () => {
  test("E21 it rejects once the run is over or being cancelled, and for a mode that the driver does not declare", async () => {
    const runtime = runtimeOf((_services, { signal }) => untilAborted(signal));
    const handle = runtime.start("hi", OPTIONS);
    await eventOf(handle, "run.started");
    handle.cancel();
    const refused = { reason: ErrorReason.INVALID_STATE };
    await expect(handle.send("x", { mode: "steer" })).rejects.toMatchObject(refused);
    await handle.result();
    await expect(handle.send("x", { mode: "follow_up" })).rejects.toMatchObject(refused);
    const bare = driver(() => "ok");
    const deaf = runtimeOf({ ...bare, capabilities: { ...bare.capabilities, controls: [] } }).start("hi", OPTIONS);
    await expect(deaf.send("x", { mode: "steer" })).rejects.toBeInstanceOf(HarnessUnsupportedError);
  });

  test("E22 at most 32 inputs wait, and what is sent is copied and checked", async () => {
    const release = Promise.withResolvers<void>();
    const seen: unknown[] = [];
    const runtime = runtimeOf(async (_services, { input }) => {
      seen.push(input);
      if (input === "hello") await release.promise;
      return "ok";
    });
    const handle = runtime.start("hello", OPTIONS);
    await eventOf(handle, "run.started");
    const parts = [{ type: "text" as const, text: "first" }];
    const sent = handle.send(parts, { mode: "follow_up" });
    parts[0] = { type: "text", text: "changed" };
    await sent;
    for (let index = 1; index < 32; index++) await handle.send(`${index}`, { mode: "follow_up" });
    await expect(handle.send("one more", { mode: "follow_up" })).rejects.toMatchObject({
      reason: ErrorReason.INPUT_QUEUE_FULL,
    });
    await expect(handle.send(7 as never, { mode: "follow_up" })).rejects.toMatchObject({
      reason: ErrorReason.VALIDATION_ERROR,
    });
    release.resolve();
    expect((await handle.result()).status).toBe("completed");
    expect(seen).toEqual(["hello", "first", ...Array.from({ length: 31 }, (_, index) => `${index + 1}`)]);
  });

  test("E23 a steer is delivered by takeInput, first in first out, and with what a driver leaves it is called again", async () => {
    const go = Promise.withResolvers<void>();
    const taken: string[] = [];
    const runtime = runtimeOf(async (services, { input, turn, entry }) => {
      if (input === "hello") await go.promise;
      for (let count = 0; count < 2; count++) {
        taken.push(`${turn}.${entry} ${input}: ${services.takeInput()?.input}`);
      }
      return `${input}`;
    });
    const handle = runtime.start("hello", OPTIONS);
    await eventOf(handle, "run.started");
    for (const text of ["one", "two", "three"]) await handle.send(text, { mode: "steer" });
    await handle.send("next", { mode: "follow_up" });
    const consumed = handle.events();
    for (let count = 0; count < 3; ) if ((await consumed.next()).value?.payload.type === "input.consumed") count++;
    go.resolve();
    expect((await handle.result()).text).toBe("next");
    expect(taken).toEqual([
      "1.1 hello: one",
      "1.1 hello: two",
      "1.2 three: undefined",
      "1.2 three: undefined",
      "2.1 next: undefined",
      "2.1 next: undefined",
    ]);
    const lease = await runtime.sessions.acquire(OPTIONS.identity, OPTIONS.sessionId);
    const { history } = await lease.read();
    await lease.release();
    expect(history.map(({ content }) => content)).toEqual(["hello", "hello", "three", "three", "next", "next"]);
  });

  test("E23 a driver that is called again adds its artifacts, its usage and its text to what it left before", async () => {
    const go = Promise.withResolvers<void>();
    const runtime = runtimeOf(async (services, { input }) => {
      if (input === "hello") await go.promise;
      const artifacts = [{ id: services.putArtifact(input) }];
      return { text: `${input}`, artifacts, usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } };
    });
    const handle = runtime.start("hello", OPTIONS);
    await eventOf(handle, "run.started");
    await handle.send("hurry", { mode: "steer" });
    await eventOf(handle, "input.consumed");
    go.resolve();
    const result = await handle.result();
    expect(result).toMatchObject({ status: "completed", text: "hurry", usage: { totalTokens: 4 } });
    expect(result.artifacts).toHaveLength(2);
    const texts = (await eventsOf(handle)).flatMap(({ payload }) =>
      payload.type === "output.text.delta" ? [payload.text] : [],
    );
    expect(texts).toEqual(["hello", "hurry"]);
  });

  test("E23 a steer that comes after the driver's return is the next turn's, or dropped for all to see", async () => {
    const heard: unknown[] = [];
    const runtime = runtimeOf(
      async (services, { turn }) => {
        if (turn === 2) await eventOf(handle, "input.consumed");
        heard.push(services.takeInput()?.input);
        return "ok";
      },
      {
        budgets: { maxRevisions: 1 },
        completionPolicy: {
          id: "critic",
          evaluate: async (_output, _ctx) => {
            await handle.send(`after ${heard.length}`, { mode: "steer" });
            return heard.length === 1 ? { action: "revise", instruction: "again" } : { action: "accept" };
          },
        },
      },
    );
    const handle = runtime.start("hello", OPTIONS);
    expect((await handle.result()).status).toBe("completed");
    expect(heard).toEqual([undefined, "after 1"]);
    const inputs = (await eventsOf(handle))
      .map(({ payload }) => payload)
      .filter(({ type }) => type.startsWith("input."));
    expect(inputs).toMatchObject([
      { type: "input.accepted" },
      { type: "input.consumed", turn: 2 },
      { type: "input.accepted" },
      { type: "input.dropped", reason: "execution_ended" },
    ]);
  });

  test("E24 replace aborts the turn's signal and starts again with the new input, the old turn leaving no history", async () => {
    const runtime = runtimeOf(async (services, { input, signal }) => {
      if (input === "hello") {
        services.append([{ role: "user", content: "hello" }]);
        await untilAborted(signal);
      }
      return `${input} after ${services.history.length}`;
    });
    const handle = runtime.start("hello", OPTIONS);
    await eventOf(handle, "run.started");
    await handle.send("better", { mode: "replace" });
    expect(await handle.result()).toMatchObject({ status: "completed", text: "better after 0" });
    const consumed = (await eventsOf(handle)).find(({ payload }) => payload.type === "input.consumed");
    expect(consumed?.payload).toMatchObject({ turn: 2, supersededTurn: 1 });
  });
});

describe("deadline", () => {
  test("E25 a deadline that passed ends the run with deadline_exceeded before its driver", async () => {
    let entered = false;
    const result = await runOnce(
      () => {
        entered = true;
        return "ok";
      },
      {},
      { deadline: Date.now() - 1 },
    );
    expect(result).toMatchObject({ status: "failed", reason: { code: "deadline_exceeded" } });
    expect(entered).toBe(false);
  });

  const user: ChatMessage = { role: "user", content: "hi" };
  const operations: readonly [string, (services: HarnessExecutionServices) => unknown][] = [
    ["model", (services) => services.model(model(), [user])],
    ["streamModel", (services) => services.streamModel(model(), [user]).next()],
    ["controlModel", (services) => services.controlModel("main", [user])],
    ["dispatch", (services) => services.dispatch({ id: "c1", name: "a", arguments: {} })],
    ["dispatchEffect", (services) => services.dispatchEffect("a", {}, async () => 1)],
    ["observeTool", (services) => services.observeTool({ toolCallId: "x1", toolName: "a", result: 1 })],
    ["runOwned", (services) => services.runOwned(async () => 1)],
    ["recordConversation", (services) => services.recordConversation("x", [user])],
    ["append", (services) => services.append([user])],
    ["emit", (services) => services.emit({ type: "output.text.delta", text: "x" })],
    ["takeInput", (services) => services.takeInput()],
    ["resource", (services) => services.resource("r", "run", async () => ({ value: 1, ownership: "runtime" }))],
    ["putArtifact", (services) => services.putArtifact(1)],
    ["getArtifact", (services) => services.getArtifact("x")],
    ["startChild", (services) => services.startChild?.("helper", "hi")],
    ["saveResumeState", (services) => services.saveResumeState?.(new Uint8Array())],
  ];
  const CONFIG: Partial<HarnessRuntimeConfig> = {
    tools: [tool("a")],
    grants: { toolIds: ["a"], modelRoles: ["main"] },
    models: { main: { provider: model() } },
  };
  const members = { helper: { driver: driver(() => "help") } };
  /** What an operation throws, now or later; undefined where it does its work. */
  const errorOf = (operate: () => unknown): Promise<unknown> =>
    Promise.resolve()
      .then(operate)
      .then(
        () => undefined,
        (error: unknown) => error,
      );

  test("E26 the table has every operation that the services have, and each works while the run may go on", async () => {
    const result = await runtimeOf(
      driver(
        async (services) => {
          const names = Object.entries(Object.getOwnPropertyDescriptors(services)).flatMap(([name, { value }]) =>
            typeof value === "function" ? [name] : [],
          );
          expect(new Set(names)).toEqual(new Set(operations.map(([name]) => name)));
          for (const [name, operate] of operations)
            expect(await errorOf(() => operate(services)), name).toBeUndefined();
          return "ok";
        },
        { members },
      ),
      CONFIG,
    ).run("hi", OPTIONS);
    expect(result.reason).toBeUndefined();
  });

  test.each(operations)(
    "E26 %s checks the deadline first, and a driver that swallows that fails all the same",
    async (_name, operate) => {
      const clock = new ManualClock();
      const deadline = clock.now() + 60_000;
      let thrown: unknown;
      const late = driver(
        async (services) => {
          // The core's own clock would end the run as well: only the engine's is moved.
          clock.advanceQuietly(60_001);
          thrown = await errorOf(() => operate(services));
          return "swallowed";
        },
        { members },
      );
      const result = await runtimeOf(late, { ...CONFIG, clock }).run("hi", { ...OPTIONS, deadline });
      expect(thrown).toMatchObject({ message: "the deadline has passed" });
      expect(result).toMatchObject({ status: "failed", reason: { code: "deadline_exceeded" } });
    },
  );

  test.each(operations)("E27 %s throws once the turn is aborted, and once it is over", async (_name, operate) => {
    let thrown: unknown;
    let kept: HarnessExecutionServices | undefined;
    const entered = Promise.withResolvers<void>();
    const runtime = runtimeOf(
      driver(
        async (services, { signal, input }) => {
          kept = services;
          if (input === "short") return "ok";
          entered.resolve();
          await untilAborted(signal).catch(() => {});
          thrown = await errorOf(() => operate(services));
          return "swallowed";
        },
        { members },
      ),
      CONFIG,
    );
    await runtime.run("short", OPTIONS);
    const over = kept;
    expect(over).toBeDefined();
    if (over !== undefined) expect(await errorOf(() => operate(over))).toBeInstanceOf(Error);
    const handle = runtime.start("long", { ...OPTIONS, sessionId: "s2" });
    await entered.promise;
    handle.cancel();
    expect((await handle.result()).status).toBe("cancelled");
    expect(thrown).toBeInstanceOf(Error);
  });
});
