import { expect, expectTypeOf, test } from "vitest";
import * as engine from "../../src/engine.js";
import { main, type Published } from "./seed-program.js";
import type { Declared } from "./seed-types.js";

test("E01 a program written only against the published declarations runs on the package", async () => {
  const published: Published = engine;
  expect(await main(published)).toEqual([
    "run.queued",
    "run.starting",
    "run.started",
    "output.text.delta",
    "artifact.created",
    "output.text.done",
    "run.terminal",
    "completed",
    "hello",
    '{"text":"hello"}',
  ]);
});

test("E01 each published declaration and the package's own stand for each other", () => {
  expectTypeOf<Declared["length"]>().toEqualTypeOf<14>();
});
