import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeDataFolder } from "../../src/cli/serve/data-folder.js";

function open() {
  const folder = mkdtempSync(join(tmpdir(), "harness-data-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const warned: unknown[] = [];
  const ignore = (): void => undefined;
  const warn = (fields: object, message: string): unknown => warned.push({ ...fields, message });
  return { folder, warned, log: { debug: ignore, info: ignore, warn, error: ignore } };
}

test("a data folder is made with those above it, for its owner alone", () => {
  const { folder, warned, log } = open();
  const data = join(folder, "a", "b");
  makeDataFolder(data, log);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(warned).toEqual([]);
});

test.each([0o755, 0o750, 0o701])("a data folder that others can open is warned of and left as it is: %o", (mode) => {
  const { folder, warned, log } = open();
  chmodSync(folder, mode);
  makeDataFolder(folder, log);
  expect(warned).toEqual([
    {
      data: folder,
      mode: `0${mode.toString(8)}`,
      message: expect.stringMatching(/^other users can open .* chmod 700$/),
    },
  ]);
  expect(statSync(folder).mode & 0o777).toBe(mode);
});
