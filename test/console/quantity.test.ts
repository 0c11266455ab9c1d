import { describe, expect, test } from "vitest";
import { oneLine } from "../../src/console/words/json.js";
import { ago, bytes, span, spanSoFar } from "../../src/console/words/quantity.js";

describe("quantities", () => {
  test.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1_000, "1.0 s"],
    [59_949, "59.9 s"],
    [59_950, "1 min 0 s"],
    [3_599_000, "59 min 59 s"],
    [3_600_000, "1 h 0 min"],
    [90_000_000, "1 d 1 h"],
  ])("%d ms are %s", (ms, text) => expect(span(ms)).toBe(text));

  test.each([
    [0, "0 s"],
    [999, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min 0 s"],
    [3_599_999, "59 min 59 s"],
  ])("%d ms so far are %s", (ms, text) => expect(spanSoFar(ms)).toBe(text));

  test.each([
    [0, "now"],
    [5_000, "5 s ago"],
    [-120_000, "in 2 min"],
    [90_000_000, "1 d ago"],
  ])("%d ms before now is %s", (before, text) => expect(ago(1e12 - before, 1e12)).toBe(text));

  test.each([
    [0, "0 B"],
    [1_023, "1023 B"],
    [262_144, "256 KiB"],
    [1_572_864, "1.5 MiB"],
  ])("%d bytes are %s", (size, text) => expect(bytes(size)).toBe(text));
});

test("a line of a text has no breaks and no half characters", () => {
  expect(oneLine("a\n b\tc ", 10)).toBe("a b c");
  expect(oneLine("🎉🎉🎉🎉", 3)).toBe("🎉🎉🎉…");
  expect(oneLine("x".repeat(1e6), 5)).toBe("xxxxx…");
});
