import { afterEach, describe, expect, test } from "vitest";
import { Containment } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { probeNamespace } from "../../../src/providers/containment/namespace.js";
import { closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

const soak = process.env["SOAK"] === "1";
const full = (await probeNamespace(false)) !== undefined;
const levels = [["marked", Containment.MARKED] as const, ...(full ? [["full", Containment.FULL] as const] : [])];

/** Agents that do not end as they should, with what they are asked to do. */
const misbehaviours: readonly (readonly [what: string, flags: readonly string[], steps: readonly unknown[]])[] = [
  ["waits for its cancel", [], [{ hang: true }]],
  ["does not hear its cancel", [], [{ freeze: true }]],
  ["drops its cancel", ["--silent=session/cancel"], [{ slow: { words: 10_000, ms: 5 } }]],
  ["never answers its prompt", ["--silent=session/prompt"], []],
  ["ignores SIGTERM and the end of its input", ["--ignore-term", "--stay"], [{ freeze: true }]],
  ["is a child that it executed itself as", ["--re-exec", "--ignore-term", "--stay"], [{ freeze: true }]],
  ["has a shell in a session of its own", [], [{ shell: { command: "setsid sleep 300 & sleep 300" } }, { hang: true }]],
  [
    "has a daemon",
    [],
    [{ shell: { command: "(setsid sh -c 'sleep 300 & sleep 300' &)", wait: true } }, { hang: true }],
  ],
  [
    "has a shell that ignores SIGTERM",
    [],
    [{ shell: { command: "trap '' TERM; sleep 300; sleep 300" } }, { hang: true }],
  ],
  ["has a terminal", [], [{ terminal: { command: "setsid sleep 300 & sleep 300" } }]],
];

for (const [containment, level] of levels) {
  describe(`held ${containment}`, () => {
    test.each(misbehaviours)("C05 nothing is left of a cancelled agent that %s", async (_, flags, steps) => {
      const { run, alive } = await openAgent({ flags, containment });
      const live = await run(steps);
      await live.until("the prompt", (run) => run.all("providerEvent").length > 0);
      await new Promise((resolve) => setTimeout(resolve, 150));
      await live.cancel("enough");
      const execution = await live.end();
      expect(execution).toMatchObject({
        ...{ state: ExecutionState.CANCELLED, containment: { level, escaped: [] } },
        cancel: { reason: "enough", cleanupError: "" },
      });
      expect(await alive()).toEqual([]);
    });
  });
}

test.each(delays(soak ? 20 : 4))(
  "C01 a cancel %i ms after the start ends cancelled, with nothing left",
  async (delayMs) => {
    const { run, alive } = await openAgent();
    const live = await run([{ shell: { command: "setsid sleep 300" } }, { slow: { words: 1_000, ms: 5 } }]);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await live.cancel();
    expect((await live.end()).state).toBe(ExecutionState.CANCELLED);
    expect(live.all("runCancelled")).toHaveLength(1);
    expect(await alive()).toEqual([]);
  },
);

test.each(["initialize", "session/new"])("C01 a cancel while the agent does not answer %s ends it", async (method) => {
  const { run, alive } = await openAgent({ flags: [`--silent=${method}`] });
  const live = await run("x");
  await live.until("the start", (run) => run.all("runStarting").length > 0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await live.cancel();
  expect((await live.end()).state).toBe(ExecutionState.CANCELLED);
  expect(await alive()).toEqual([]);
});

test("C02 fifty cancels at once are one", async () => {
  const { run } = await openAgent();
  const live = await run([{ hang: true }]);
  await live.until("the prompt", (run) => run.all("providerEvent").length > 0);
  await Promise.all(Array.from({ length: 50 }, (_, index) => live.cancel(`reason ${index}`)));
  const execution = await live.end();
  expect(execution.cancel?.reason).toBe("reason 0");
  expect(live.all("runCancelled")).toMatchObject([{ reason: "reason 0" }]);
});

/** From the first moment to well into the prompt. */
function delays(count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.round((index * 1_200) / (count - 1)));
}
