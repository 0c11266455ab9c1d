import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Log } from "../../core/provider.js";
import { ConfigError } from "../config/config-error.js";

/** The providers that ever dialled in, in the data folder. */
export const REMOTE_PROVIDERS_FILE = "remote-providers.json";
/** The tokens, in the data folder. */
export const TOKEN_FILE = "tokens.json";

/** Makes the data folder, which only its owner can read; warns of one that others can. It may hold more than ours, so its mode is left. */
export function makeDataFolder(folder: string, log: Log): void {
  try {
    const path = resolve(folder);
    makeFolders(path);
    const mode = statSync(path).mode & 0o777;
    // On Windows a mode says nothing.
    if (process.getuid === undefined || (mode & 0o077) === 0) return;
    const fields = { data: folder, mode: mode.toString(8).padStart(4, "0") };
    log.warn(fields, "other users can open the data folder: take the right from them with chmod 700");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`data: ${folder} cannot be made (${why}); name another folder with --data`);
  }
}

/**
 * Makes a folder and those above it. Not `mkdir`'s own `recursive`, which never
 * returns where a file system says that a folder it just found does not exist,
 * as `/proc` does.
 */
function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  makeFolders(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}
