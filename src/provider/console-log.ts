import type { Log } from "../core/provider.js";

/** Writes warnings and errors to standard error, one line each; for those who name no log of their own. */
export const consoleLog: Log = {
  debug() {},
  info() {},
  warn: (_, message) => console.warn(`harness provider: ${message}`),
  error: (_, message) => console.error(`harness provider: ${message}`),
};
