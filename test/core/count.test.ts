import { expect, test } from "vitest";
import { count } from "../../src/core/count.js";

test("counts by key keep nothing of a key whose count comes to nothing", () => {
  const counts = new Map<string, number>();
  for (const key of ["a", "a", "b"]) count(counts, key, 1);
  expect([...counts]).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
  for (const key of ["a", "b", "b", "c"]) count(counts, key, -1);
  expect([...counts]).toEqual([["a", 1]]);
  count(counts, "a", -1);
  expect(counts.size).toBe(0);
});
