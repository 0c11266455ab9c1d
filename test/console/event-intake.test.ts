import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { createEventIntake } from "../../src/console/live/event-intake.js";

/** What waits for the next frame of the screen. */
let frames: (() => void)[];

beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => frames.push(run));
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

function events(from: number, count: number): readonly Event[] {
  return Array.from({ length: count }, (_, index) => create(EventSchema, { sequence: from + index }));
}

test("a reader that is far ahead waits for the page no longer than it may, and nothing is lost or shown twice", async () => {
  const shown: number[] = [];
  const intake = createEventIntake((slice) => shown.push(...slice.map(({ sequence }) => sequence)));
  const hidden = new AbortController();
  const pushed = intake.push(events(1, 20_000), hidden.signal);
  hidden.abort(new Error("the page is hidden"));
  await expect(pushed).rejects.toThrow("the page is hidden");
  const again = intake.push(events(20_001, 10), new AbortController().signal);
  while (frames.length > 0) for (const run of frames.splice(0)) run();
  await again;
  expect(shown).toEqual(Array.from({ length: 20_010 }, (_, index) => index + 1));
  intake.close();
});
