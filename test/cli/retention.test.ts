import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RetentionRuleSchema } from "../../gen/ts/harnessruntime/config/v1/config_pb.js";
import { startRetention } from "../../src/cli/serve/retention.js";
import type { Clock } from "../../src/core/clock.js";
import { openMemoryStore } from "../../src/store/memory.js";

test("the rules are applied at start and every hour, also after a failure, until they are stopped", async () => {
  const trims: unknown[] = [];
  const store = {
    ...openMemoryStore(),
    async trim(endedBeforeMs: number, labels?: Readonly<Record<string, string>>) {
      trims.push([endedBeforeMs, labels]);
      if (trims.length === 1) throw new Error("no disk");
      return 0;
    },
  };
  let nowMs = 1_000_000_000;
  let next: (() => void) | undefined;
  let armed = (): void => undefined;
  const clock: Clock = {
    now: () => nowMs,
    after(delayMs, run) {
      next = () => {
        nowMs += delayMs;
        run();
      };
      armed();
      return () => {
        next = undefined;
      };
    },
  };
  const rounds = () => new Promise<void>((resolve) => (armed = resolve));
  const failures: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (_: unknown, message: string) => failures.push(message) };
  const rule = create(RetentionRuleSchema, { keep: { seconds: 86_400n }, labels: { kind: "test" } });

  const first = rounds();
  const retention = startRetention(store, [rule], { clock, log });
  await first;
  const second = rounds();
  next?.();
  await second;
  await retention.stop();
  expect(next).toBeUndefined();
  expect(trims).toEqual([
    [1_000_000_000 - 86_400_000, { kind: "test" }],
    [1_003_600_000 - 86_400_000, { kind: "test" }],
  ]);
  expect(failures).toEqual(["retention failed; it is tried again"]);
});
