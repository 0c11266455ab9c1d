import { expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type HarnessEvent, isHarnessError } from "../../src/engine.js";
import { answer, eventsOf, MAIN, model, OPTIONS, runtimeOf, tool } from "./fixtures.js";

const ROUNDS = process.env["SOAK"] === "1" ? 2_000 : 60;

/** Lets some microtasks and then some turns of the event loop pass. */
async function pause(steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    if (step % 3 === 2) await new Promise((resolve) => setImmediate(resolve));
    else await Promise.resolve();
  }
}

function count(events: readonly HarnessEvent[], type: HarnessEvent["payload"]["type"]): number {
  return events.filter(({ payload }) => payload.type === type).length;
}

test("E202 an input that races the end is refused, or is consumed or dropped with an event: never lost", async () => {
  const seen: string[] = [];
  const runtime = runtimeOf(async (_services, { input }) => {
    seen.push(`${input}`);
    await pause(2);
    return "ok";
  });
  let accepted = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const handle = runtime.start(`first ${round}`, { ...OPTIONS, sessionId: `s${round}` });
    await pause(round % 40);
    const sent = await handle.send(`second ${round}`, { mode: "follow_up" }).then(
      () => true,
      (error: unknown) => !isHarnessError(error, ErrorReason.INVALID_STATE),
    );
    expect((await handle.result()).status).toBe("completed");
    const events = await eventsOf(handle);
    expect(count(events, "input.accepted")).toBe(sent ? 1 : 0);
    expect(count(events, "input.consumed") + count(events, "input.dropped")).toBe(sent ? 1 : 0);
    expect(seen.includes(`second ${round}`)).toBe(sent);
    accepted += sent ? 1 : 0;
  }
  expect(accepted).toBeGreaterThan(0);
});

test("E203 a cancel at any moment ends in one terminal event, leaves nothing behind and frees the session", async () => {
  const slow = model(async () => {
    await pause(3);
    return answer("fine");
  });
  const runtime = runtimeOf(
    async (services) => {
      await services.model(slow, []);
      await services.dispatch({ id: "c1", name: "a", arguments: {} });
      return "ok";
    },
    { grants: { ...MAIN, toolIds: ["a"] }, tools: [tool("a", { execute: () => pause(3) })] },
  );
  const ended: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const handle = runtime.start("hello", OPTIONS);
    await pause(round % 60);
    handle.cancel("a race");
    const { status, cleanupDiagnostics } = await handle.result();
    ended.push(status);
    expect(cleanupDiagnostics).toBeUndefined();
    expect(count(await eventsOf(handle), "run.terminal")).toBe(1);
  }
  expect(ended).toContain("cancelled");
  expect(ended.every((status) => status === "cancelled" || status === "completed")).toBe(true);
  expect((await runtime.run("hello", OPTIONS)).status).toBe("completed");
});

test("E204 a hundred runs at once keep their sessions, budgets and logs apart", async () => {
  const runtime = runtimeOf(
    async (services, { input }) => {
      await services.model(model(), []);
      services.state["input"] = input;
      await pause(5);
      return `${services.state["input"]} ${services.history.length}`;
    },
    { grants: MAIN, budgets: { maxModelCalls: 1 } },
  );
  const runs = Array.from({ length: 100 }, (_, index) =>
    runtime.start(`${index}`, { ...OPTIONS, sessionId: `s${index}` }),
  );
  const texts = await Promise.all(runs.map(async (run) => (await run.result()).text));
  expect(texts).toEqual(runs.map((_, index) => `${index} 0`));
});
