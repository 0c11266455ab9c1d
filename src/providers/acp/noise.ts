import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AcpSettings, resolveSettings } from "./settings.js";

/** Returns settings for the same agent, with noise and a line of 10 MiB in its output: a fault that conformance tries. */
export function withNoise(settings: AcpSettings, id: string): AcpSettings {
  const { command, args } = resolveSettings(settings);
  return { ...settings, id, command: process.execPath, args: [relayFile(), command, ...args] };
}

/** What was built lies beside this file as .js; from the sources Node runs the .ts itself. */
function relayFile(): string {
  const built = fileURLToPath(new URL("./noise-relay.js", import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL("./noise-relay.ts", import.meta.url));
}
