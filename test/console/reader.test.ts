import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createReader, type Reader } from "../../src/console/live/reader.js";

let reader: Reader;
let reads: number;
let works: boolean;

beforeEach(() => {
  vi.useFakeTimers();
  reads = 0;
  works = true;
  reader = createReader(async () => {
    reads++;
    if (!works) throw new Error("no answer");
  });
});

afterEach(() => {
  reader.close();
  vi.useRealTimers();
});

test("of many wishes within a moment the first is fulfilled at once and the last after it", async () => {
  for (let wish = 0; wish < 10; wish++) reader.read();
  expect(reads).toBe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(reads).toBe(2);
});

test("a read that failed is made up for, and only then", async () => {
  works = false;
  reader.read();
  await vi.advanceTimersByTimeAsync(1_000);
  works = true;
  reader.makeUp();
  expect(reads).toBe(2);
  await vi.advanceTimersByTimeAsync(1_000);
  reader.makeUp();
  expect(reads).toBe(2);
});
