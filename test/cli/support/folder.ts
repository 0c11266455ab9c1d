import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, vi } from "vitest";
import { build } from "./processes.js";

/**
 * For a file of tests that start the program, which a busy machine takes its time
 * for: builds it before them, and returns a folder that is removed after them.
 */
export function openFolder(name: string): string {
  vi.setConfig({ testTimeout: 180_000 });
  const folder = mkdtempSync(join(tmpdir(), `harness-${name}-`));
  beforeAll(build, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
