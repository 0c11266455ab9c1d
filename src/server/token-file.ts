import { mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../core/errors.js";
import { replaceFile } from "../core/replace-file.js";
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
/** How long a caller should wait before it tries again whether the file is mended, in milliseconds. */
const RETRY_MS = 1_000;

/** Returns the rows, oldest first; none where there is no file. Fails with STORE_UNAVAILABLE, naming the file, where it cannot be read or is damaged. */
export async function readTokenFile(path: string): Promise<readonly TokenRow[]> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    const why = error instanceof Error ? error.message : String(error);
    throw unusable(path, `cannot be read (${why}): give the server's user the right to read it`, error);
  }
  try {
    const file = JSON.parse(text) as TokenFile;
    if (file.version !== 1 || !file.tokens.every(isRow)) throw new Error("not version 1");
    return file.tokens;
  } catch (error) {
    const mend = "restore it from a backup, or move it away and make new tokens with npx harness token create";
    throw unusable(path, `is damaged: ${mend}`, error);
  }
}

function isRow(row: TokenRow): boolean {
  const { id, tenantId, userId, scopes, createTimeMs, expireTimeMs = 0, note, hash } = row;
  const texts = [id, tenantId, userId, note, hash];
  return (
    texts.every((text) => typeof text === "string") &&
    /^[0-9a-f]{64}$/.test(hash) &&
    Array.isArray(scopes) &&
    Number.isFinite(createTimeMs) &&
    Number.isFinite(expireTimeMs)
  );
}

function unusable(path: string, why: string, cause: unknown): HarnessError {
  const message = `the token file ${path} ${why}`;
  return new HarnessError(ErrorReason.STORE_UNAVAILABLE, message, { file: path }, { cause, retryMs: RETRY_MS });
}

/**
 * Replaces the rows, as a whole and under a lock, so that a reader sees the old file or the new one. Fails with
 * STORE_UNAVAILABLE, naming the file, where it cannot be written; the old one is left then.
 */
export async function updateTokenFile(
  path: string,
  change: (rows: readonly TokenRow[]) => readonly TokenRow[],
): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const lock = `${path}.lock`;
    await takeLock(lock);
    try {
      const file: TokenFile = { version: 1, tokens: change(await readTokenFile(path)) };
      await replaceFile(path, `${JSON.stringify(file, undefined, 2)}\n`);
    } finally {
      await rm(lock, { force: true });
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const mend = "make room on its disk, or give this user the right to write in its folder";
    throw unusable(path, `cannot be written (${error.message}): ${mend}`, error);
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

async function takeLock(lock: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await (await open(lock, "wx", 0o600)).close();
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (attempt === LOCK_ATTEMPTS) {
        throw unusable(lock, "is another process's: if there is none that changes tokens, remove it", error);
      }
      await sleep(LOCK_WAIT_MS);
    }
  }
}
