import { expect, test } from "vitest";
import { Tally } from "../../src/core/tally.js";

test("a tally counts by key, and keeps nothing of a key whose count is 0", () => {
  const tally = new Tally();
  for (const key of ["a", "a", "b"]) tally.add(key);
  expect([tally.countOf("a"), tally.countOf("b"), tally.countOf("c"), tally.size]).toEqual([2, 1, 0, 2]);
  for (const key of ["a", "b", "b", "c"]) tally.remove(key);
  expect([tally.countOf("a"), tally.countOf("b"), tally.countOf("c"), tally.size]).toEqual([1, 0, 0, 1]);
  tally.remove("a");
  expect(tally.size).toBe(0);
});
