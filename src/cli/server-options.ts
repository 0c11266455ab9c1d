import type { Command } from "commander";
import { usageError } from "./cli-error.js";
import type { FlagValue, ReadConfig } from "./config/read-config.js";

/** The flags of commands that read the configuration, each with the key it sets. */
const FLAGS = [
  { flag: "--port", argument: "<number>", key: "server.port", text: "the port; 0 takes a free one" },
  { flag: "--host", argument: "<address>", key: "server.host", text: "the address to listen at" },
  { flag: "--data", argument: "<folder>", key: "data", text: "the folder for everything that is kept" },
  { flag: "--auth", argument: "<mode>", key: "auth.mode", text: "off or tokens" },
  { flag: "--store", argument: "<kind>", key: "store.kind", text: "sqlite or memory" },
  { flag: "--log-level", argument: "<level>", key: "log.level", text: "debug, info, warn, error or silent" },
] as const;

/** What commander makes of the options of {@link withConfigOptions}. */
export interface ConfigOptions {
  readonly config?: string;
  readonly set?: readonly FlagValue[];
  readonly allowInsecure?: true;
  readonly port?: string;
  readonly host?: string;
  readonly data?: string;
  readonly auth?: string;
  readonly store?: string;
  readonly logLevel?: string;
}

/** Adds the options that say what the configuration is; of `keys` only, where they are named. */
export function withConfigOptions(command: Command, keys?: readonly string[]): Command {
  command.option(
    "--config <file>",
    "the configuration file (or HARNESS_CONFIG; default: harness.yaml where there is one)",
  );
  for (const { flag, argument, key, text } of FLAGS) {
    if (keys === undefined || keys.includes(key)) command.option(`${flag} ${argument}`, text);
  }
  if (keys !== undefined) return command;
  return command
    .option("--allow-insecure", "listen beyond loopback although nobody has to authenticate")
    .option("--set <key=value>", "any other key, such as server.drain_grace=5s; may be repeated", collectSetting);
}

/** Reads the configuration that the options ask for. Throws ConfigError. */
export async function configOf(options: ConfigOptions): Promise<ReadConfig> {
  const { readConfig } = await import("./config/read-config.js");
  return readConfig({ file: options.config, env: process.env, flags: flagsOf(options) });
}

function flagsOf(options: ConfigOptions): readonly FlagValue[] {
  const named = FLAGS.flatMap(({ flag, key }) => {
    const name = flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const text = options[name as keyof ConfigOptions];
    return typeof text === "string" ? [{ flag, key, text }] : [];
  });
  const insecure = options.allowInsecure
    ? [{ flag: "--allow-insecure", key: "server.allow_insecure", text: "true" }]
    : [];
  return [...named, ...insecure, ...(options.set ?? [])];
}

function collectSetting(text: string, settings: readonly FlagValue[] = []): readonly FlagValue[] {
  const split = text.indexOf("=");
  if (split < 1) throw usageError(`--set ${text}: must be KEY=VALUE`);
  return [...settings, { flag: "--set", key: text.slice(0, split), text: text.slice(split + 1) }];
}
