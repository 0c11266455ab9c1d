import fc from "fast-check";
import { expect, test } from "vitest";
import { createHeights } from "../../src/console/list/heights.js";

test("heights, offsets and rows agree with a plain sum, whatever is measured in whatever order", () => {
  const change = fc.record({ index: fc.nat(199), height: fc.integer({ min: 1, max: 400 }) });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.array(change, { maxLength: 60 }),
      fc.nat(50_000),
      (length, changes, offset) => {
        const plain = Array.from({ length }, (_, index) => 20 + (index % 7));
        const heights = createHeights((index) => 20 + (index % 7));
        heights.resize(Math.ceil(length / 2));
        heights.resize(length);
        for (const { index, height } of changes.filter((one) => one.index < length)) {
          expect(heights.set(index, height)).toBe(height - (plain[index] ?? 0));
          plain[index] = height;
        }
        const total = plain.reduce((sum, height) => sum + height, 0);
        expect(heights.total).toBe(total);
        const at = heights.indexAt(offset);
        if (offset < total) {
          expect(heights.offsetOf(at)).toBeLessThanOrEqual(offset);
          expect(heights.offsetOf(at) + heights.get(at)).toBeGreaterThan(offset);
        } else expect(at).toBe(length - 1);
      },
    ),
  );
});

test("an empty list has no height and its first row is row 0", () => {
  const heights = createHeights(() => 10);
  expect([heights.total, heights.length, heights.indexAt(100), heights.offsetOf(3)]).toEqual([0, 0, 0, 0]);
  heights.resize(3);
  heights.resize(0);
  expect(heights.total).toBe(0);
});
