import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { type Clock, systemClock } from "../core/clock.js";
import { replaceFile } from "../core/replace-file.js";
import { messageOf } from "./errors.js";
import { type HarnessSessionStore, lockedSessions, type SessionSnapshot } from "./session-store.js";

/** A session that was not used for this long is removed: 30 days. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
const SUFFIX = ".session";

/**
 * Returns a session store of one file a session in a folder, which is made where
 * it is not there and is this process's alone. Sessions that were not used for 30
 * days are removed when it is opened. Nobody but the owner of the process can read the files.
 */
export async function openFileSessions(folder: string, clock: Clock = systemClock): Promise<HarnessSessionStore> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await prune(folder, clock.now());
  return lockedSessions({
    get: async (key) => {
      const path = pathOf(folder, key);
      const bytes = await readFile(path).catch(unlessMissing);
      if (bytes === undefined) return undefined;
      const now = new Date(clock.now());
      await utimes(path, now, now);
      return decode(path, bytes);
    },
    set: async (key, snapshot) => await replaceFile(pathOf(folder, key), serialize(snapshot)),
  });
}

function pathOf(folder: string, key: string): string {
  return join(folder, `${createHash("sha256").update(key).digest("hex")}${SUFFIX}`);
}

function decode(path: string, bytes: Uint8Array): SessionSnapshot {
  try {
    return deserialize(bytes) as SessionSnapshot;
  } catch (error) {
    throw new Error(`the session cannot be read: ${messageOf(error)}; remove ${path} to begin it anew`);
  }
}

/** Removes what nobody used for long, and what a crash left half-written. */
async function prune(folder: string, nowMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await stat(path).catch(unlessMissing);
    const isOld = found !== undefined && found.mtimeMs < nowMs - KEPT_MS;
    if (isOld || !name.endsWith(SUFFIX)) await rm(path, { force: true });
  }
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
  throw error;
}
