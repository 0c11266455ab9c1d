import type { Command } from "commander";
import type { HarnessClient } from "../client/client.js";
import type { RetryPolicy } from "../client/retry.js";
import { usageError } from "./cli-error.js";

/** What every command that talks to a runtime takes. */
export interface ClientOptions {
  readonly url: string;
  readonly token?: string;
  readonly json?: true;
}

export const DEFAULT_URL = "http://127.0.0.1:4310";

/** Adds the options of {@link ClientOptions} to a command. */
export function withClientOptions(command: Command): Command {
  const { env } = process;
  return command
    .option("--url <url>", "where the runtime is (or HARNESS_URL)", env["HARNESS_URL"] || DEFAULT_URL)
    .option("--token <token>", "the bearer token (or HARNESS_TOKEN)")
    .option("--json", "print ProtoJSON, one object a line");
}

/** The clients of one command. */
export interface Clients {
  /** Fails at once where no runtime answers: for the first call. */
  readonly eager: HarnessClient;
  /** Waits for a runtime that is restarted: for what goes on. */
  readonly patient: HarnessClient;
}

/** Makes the clients. Nothing is connected until the first call. `retry` is the patience of the patient one. */
export async function openClients(
  { url, token = process.env["HARNESS_TOKEN"] }: ClientOptions,
  retry: Partial<RetryPolicy> = {},
): Promise<Clients> {
  checkUrl(url);
  const { createHarnessClient } = await import("../client/node.js");
  const options = { baseUrl: url, ...(token ? { token } : {}) };
  return {
    eager: createHarnessClient({ ...options, retry: { callGiveUpMs: 0 } }),
    patient: createHarnessClient({ ...options, retry }),
  };
}

/** Throws a usage error for what is no address of HTTP. */
function checkUrl(url: string): void {
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return;
  const guess = `http://${url}`;
  const mend = !url.includes("://") && URL.canParse(guess) ? `did you mean ${guess}?` : `such as ${DEFAULT_URL}`;
  throw usageError(`--url ${url}: must be a URL of http: or https:; ${mend}`);
}

/** Returns a command as it can be pasted, with the URL where it is not the default. */
export function commandText(args: string, { url }: ClientOptions): string {
  return `npx harness ${args}${url === DEFAULT_URL || url === process.env["HARNESS_URL"] ? "" : ` --url ${url}`}`;
}
