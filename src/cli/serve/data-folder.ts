import { mkdirSync } from "node:fs";
import { ConfigError } from "../config/config-error.js";

/** The tokens, in the data folder. */
export const TOKEN_FILE = "tokens.json";

/** Makes the data folder, which only its owner can read. */
export function makeDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`data: ${folder} cannot be made (${why}); name another folder with --data`);
  }
}
