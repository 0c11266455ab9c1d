import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Scope } from "./auth.js";

/** One token at rest. */
export interface TokenRow {
  /** Public; it is in the token itself. */
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly scopes: readonly Scope[];
  readonly createTimeMs: number;
  /** Unset: never. */
  readonly expireTimeMs?: number;
  /** What it is for; may be empty. */
  readonly note: string;
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string;
}

interface TokenFile {
  readonly version: 1;
  readonly tokens: readonly TokenRow[];
}

const LOCK_ATTEMPTS = 100;
const LOCK_WAIT_MS = 20;

/** Returns the rows, oldest first; none where there is no file. Throws, naming the file, where it is damaged. */
export async function readTokenFile(path: string): Promise<readonly TokenRow[]> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  try {
    const file = JSON.parse(text) as TokenFile;
    if (file.version !== 1 || !Array.isArray(file.tokens)) throw new Error("not version 1");
    return file.tokens;
  } catch (cause) {
    throw new Error(`${path} is not a token file: restore it from a backup, or remove it to begin anew`, { cause });
  }
}

/** Replaces the rows, as a whole and under a lock, so that a reader sees the old file or the new one. */
export async function updateTokenFile(
  path: string,
  change: (rows: readonly TokenRow[]) => readonly TokenRow[],
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const lock = `${path}.lock`;
  await takeLock(lock);
  try {
    const file: TokenFile = { version: 1, tokens: change(await readTokenFile(path)) };
    const draft = `${path}.${randomBytes(4).toString("hex")}`;
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(file, undefined, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await (await open(lock, "wx", 0o600)).close();
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (attempt === LOCK_ATTEMPTS) {
        throw new Error(`another process is changing the tokens; if there is none, remove ${lock}`);
      }
      await sleep(LOCK_WAIT_MS);
    }
  }
}
