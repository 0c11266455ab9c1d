import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { HaltSwitch } from "../../src/core/halt.js";
import { settle } from "./fake-clock.js";
import { gate, openKit, provider } from "./kit.js";

/** Collects garbage now: a flag of V8 that a context takes over when it is made. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
}

test("work that is waited for unless halted gives its result, its error, or undefined once there is a reason", async () => {
  const halt = new HaltSwitch();
  expect(await halt.unlessHalted(Promise.resolve("done"))).toBe("done");
  await expect(halt.unlessHalted(Promise.reject(new Error("no")))).rejects.toThrow("no");
  const endless = halt.unlessHalted(new Promise<string>(() => undefined));
  halt.stop({ kind: "cancel" });
  expect(await endless).toBeUndefined();
  expect(await halt.unlessHalted(Promise.resolve("done"))).toBeUndefined();
  expect(await halt.unlessHalted(Promise.reject(new Error("no")))).toBeUndefined();
});

test("an execution of many turns keeps the outcome of none that is over", async () => {
  const outcomes: WeakRef<object>[] = [];
  const hold = gate();
  const last = gate();
  const kit = await openKit({
    providers: [
      provider(async ({ turn }) => {
        if (turn === 1) await hold.promise;
        if (turn === 12) await last.promise;
        const outcome = { status: "succeeded", finalOutput: `turn ${turn}` };
        outcomes.push(new WeakRef(outcome));
        return outcome;
      }),
    ],
  });
  const { id } = await kit.start();
  await kit.until(id, "run.started");
  for (let turn = 2; turn <= 12; turn++) await kit.send(id, InputMode.FOLLOW_UP, `turn ${turn}`);
  hold.resolve();
  await kit.until(id, "input.consumed", 10);
  for (let round = 0; round < 5; round++) {
    await settle();
    collectGarbage();
  }
  expect(outcomes).toHaveLength(11);
  expect(outcomes.filter((outcome) => outcome.deref() !== undefined)).toHaveLength(0);
  last.resolve();
  await kit.over(id);
});
