import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.js";
import { withLimit } from "../../../src/providers/acp/time-limit.js";

const late = (): Error => new Error("late");

test("an answer that came in time counts, although this process was too busy to read it", async () => {
  const child = spawn("/bin/echo", ["answer"]);
  const answered = withLimit(once(child.stdout, "data"), 50, systemClock, late);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  expect(String(await answered)).toBe("answer\n");
});

test("no answer in time is what `late` says", async () => {
  await expect(withLimit(new Promise(() => {}), 10, systemClock, late)).rejects.toThrow("late");
});
