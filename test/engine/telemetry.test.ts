import { expect, test } from "vitest";
import { createEventBus, type TelemetryEvent } from "../../src/engine.js";
import { MAIN, model, runOnce, tool } from "./fixtures.js";

test("E131 runs, models, controllers and tools come as pairs, with no prompts or arguments in them", async () => {
  const telemetry = createEventBus();
  const events: TelemetryEvent[] = [];
  const stop = telemetry.on((event) => events.push(event));
  await runOnce(
    async (services) => {
      await services.model(model(), [{ role: "user", content: "classified" }]);
      await services
        .model(
          model(() => Promise.reject(new RangeError("classified"))),
          [],
        )
        .catch(() => {});
      await services.dispatch({ id: "c1", name: "a", arguments: { word: "classified" } });
      await services.dispatch({ id: "c2", name: "b", arguments: {} });
      return "classified";
    },
    {
      telemetry,
      grants: { ...MAIN, toolIds: ["a"] },
      tools: [tool("a", { execute: () => "classified" })],
      controller: { id: "c", prepareRun: () => undefined, prepareStep: () => undefined },
    },
  );
  stop();
  expect(events.map(({ type }) => type)).toEqual([
    "run.start",
    "controller.start",
    "controller.result",
    "controller.start",
    "controller.result",
    "model.start",
    "model.result",
    "controller.start",
    "controller.result",
    "model.start",
    "model.error",
    "tool.start",
    "tool.result",
    "tool.start",
    "tool.result",
    "run.complete",
  ]);
  const steps = events.flatMap((event) => (event.type === "controller.start" ? [event.step] : []));
  expect(steps).toEqual([undefined, 0, 1]);
  const open = new Map<string, number>();
  for (const { spanId } of events) open.set(spanId, (open.get(spanId) ?? 0) + 1);
  expect([...open.values()].every((count) => count === 2)).toBe(true);
  expect(JSON.stringify(events)).not.toContain("classified");
  expect(events.at(-1)).toMatchObject({ status: "succeeded", usage: { totalTokens: 5 } });
});

test("E132 what an observer throws touches nobody", async () => {
  const telemetry = createEventBus();
  let seen = 0;
  telemetry.on(() => {
    throw new Error("an observer");
  });
  telemetry.on(() => {
    seen++;
  });
  expect((await runOnce(() => "ok", { telemetry })).status).toBe("completed");
  expect(seen).toBe(2);
});
