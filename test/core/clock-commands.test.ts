import { expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Clock } from "../../src/core/clock.js";
import { ClockCommands } from "../../src/core/clock-commands.js";
import { HarnessError } from "../../src/core/errors.js";
import type { Log } from "../../src/core/provider.js";
import { Timers } from "../../src/core/timers.js";
import { FakeClock } from "./fake-clock.js";

const KEY = { tenantId: "local", executionId: "exe_1" };

/** Commands whose log is a list of the tries that it tells of, on a clock that knows which timers are armed. */
function openCommands() {
  const fake = new FakeClock();
  const told: number[] = [];
  const log: Log = { debug() {}, info() {}, warn() {}, error: ({ tries }) => void told.push(tries as number) };
  const armed = new Set<object>();
  let disarmed = 0;
  const clock: Clock = {
    now: () => fake.now(),
    after(delayMs, run) {
      const timer = {};
      armed.add(timer);
      const stop = fake.after(delayMs, () => {
        armed.delete(timer);
        run();
      });
      return () => {
        disarmed++;
        armed.delete(timer);
        stop();
      };
    },
  };
  const timers = new Timers(clock);
  return { fake, told, armed, disarmed: () => disarmed, timers, commands: new ClockCommands(timers, log, KEY) };
}

function away(): HarnessError {
  return new HarnessError(ErrorReason.STORE_UNAVAILABLE, "the disk is full");
}

test("a clock's command is tried until the store keeps it, ever more rarely, and told of ever more rarely", async () => {
  const { fake, told, armed, disarmed, timers, commands } = openCommands();
  const triedMs: number[] = [];
  const beginMs = fake.now();
  let fails = true;
  commands.run(async () => {
    triedMs.push(fake.now() - beginMs);
    if (fails) throw away();
  });
  await fake.advance(200_000);
  expect(triedMs.slice(0, 6)).toEqual([0, 1_000, 3_000, 7_000, 12_000, 17_000]);
  expect(told).toEqual([1, 2, 4, 8, 16, 32]);
  fails = false;
  await fake.advance(5_000);
  const tries = triedMs.length;
  await fake.advance(60_000);
  expect(triedMs).toHaveLength(tries);
  expect(armed.size).toBe(0);
  timers.close();
  // Nothing is left of the pauses that are over, however many there were.
  expect(disarmed()).toBe(0);
});

test("what cannot succeed is told of and not tried again", async () => {
  const { fake, told, armed, commands } = openCommands();
  commands.run(() => Promise.reject(new Error("a bug")));
  await fake.advance(60_000);
  expect(told).toEqual([1]);
  expect(armed.size).toBe(0);
});

test("after close nothing is tried again: neither what waits nor what is under way and fails", async () => {
  const { fake, armed, timers, commands } = openCommands();
  let tries = 0;
  const underWay = Promise.withResolvers<void>();
  commands.run(() => {
    tries++;
    return Promise.reject(away());
  });
  commands.run(() => {
    tries++;
    return underWay.promise;
  });
  await fake.advance(500);
  timers.close();
  underWay.reject(away());
  await fake.advance(60_000);
  expect(tries).toBe(2);
  expect(armed.size).toBe(0);
});
