import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the console was built for this run. */
    consoleFolder: string;
  }
}

/** Builds the console for a run of the tests; what it returns removes it again. */
export async function setup(project: TestProject): Promise<() => void> {
  const outDir = mkdtempSync(join(tmpdir(), "harness-console-"));
  const configFile = join(import.meta.dirname, "../../../src/console/vite.config.ts");
  await build({ configFile, logLevel: "warn", build: { outDir } });
  project.provide("consoleFolder", outDir);
  return () => rmSync(outDir, { recursive: true, force: true });
}
