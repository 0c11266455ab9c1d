import { existsSync, mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ConfigError } from "../config/config-error.js";

/** The providers that ever dialled in, in the data folder. */
export const REMOTE_PROVIDERS_FILE = "remote-providers.json";
/** The tokens, in the data folder. */
export const TOKEN_FILE = "tokens.json";

/** Makes the data folder, which only its owner can read. */
export function makeDataFolder(folder: string): void {
  try {
    makeFolders(resolve(folder));
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
