import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** Makes an empty folder that {@link removeFolders} removes. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "harness-store-"));
  made.push(folder);
  return folder;
}

/** Removes all folders that were made. */
export function removeFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}
