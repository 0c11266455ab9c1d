import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { createValidator } from "@bufbuild/protovalidate";
import { type Config, ConfigSchema } from "../../../gen/ts/harnessruntime/config/v1/config_pb.js";
import { nearest } from "../../core/nearest.js";
import { fromText, toCanonical } from "./canonical.js";
import { ConfigError, configError, type Problem } from "./config-error.js";
import { DEFAULTS } from "./defaults.js";
import { fromSettings, KEYS, type Key, type Setting, toSettings } from "./settings.js";
import { readYamlFile } from "./yaml-file.js";

/** The file that is read where none is named and it is there. */
export const DEFAULT_FILE = "harness.yaml";

/** One value from the command line: a key's path with dots, its text, and the flag as it was written. */
export interface FlagValue {
  readonly key: string;
  readonly text: string;
  readonly flag: string;
}

export interface ConfigSources {
  /** The file to read; undefined: `harness.yaml` where there is one. */
  readonly file: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: readonly FlagValue[];
}

/** The configuration in force. */
export interface ReadConfig {
  readonly config: Config;
  /** What names of modules in it are relative to: the configuration file's folder, or the working directory without one. */
  readonly folder: string;
  /** Every value in force, in the order of the contract, and where it was set. */
  readonly settings: readonly Setting[];
}

/** Variables of the same prefix that are no keys of the configuration: the client's, and this file's. */
const OTHER_VARIABLES = ["HARNESS_URL", "HARNESS_TOKEN", "HARNESS_CONFIG"];

/** Puts the configuration together: flags before environment, before file, before defaults. Throws {@link ConfigError}. */
export function readConfig({ file, env, flags }: ConfigSources): ReadConfig {
  const problems: Problem[] = [];
  const named = file ?? env["HARNESS_CONFIG"] ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined);
  const given = [
    ...read(DEFAULTS, () => "default", problems),
    ...fromFile(named, problems),
    ...fromEnvironment(env, problems),
    ...flags.flatMap((flag) => fromFlag(flag, problems)),
  ];
  throwProblems(problems);
  const last = new Map(given.map((setting) => [setting.path.join("\n"), setting]));
  const config = fromJson(ConfigSchema, fromSettings([...last.values()]));
  throwProblems(violations(config, last));
  const order = KEYS.map(({ path }) => path.join("."));
  const rank = ({ path }: Setting): number => order.findIndex((key) => `${path.join(".")}.`.startsWith(`${key}.`));
  const folder = named === undefined ? process.cwd() : dirname(resolve(named));
  return { config, folder, settings: [...last.values()].sort((one, other) => rank(one) - rank(other)) };
}

function throwProblems([first, ...more]: readonly Problem[]): void {
  if (first !== undefined) throw configError([first, ...more]);
}

function read(json: JsonValue, whereOf: (path: readonly string[]) => string, problems: Problem[]): readonly Setting[] {
  const canonical = toCanonical(ConfigSchema, json, [], (path, text) => {
    problems.push({ where: whereOf(path), key: path.join(".") || "the file", text });
  });
  return toSettings(canonical, whereOf);
}

function fromFile(file: string | undefined, problems: Problem[]): readonly Setting[] {
  if (file === undefined) return [];
  const yaml = readYamlFile(file);
  return read(yaml.json, yaml.whereOf, problems);
}

function fromEnvironment(env: ConfigSources["env"], problems: Problem[]): readonly Setting[] {
  const variables = KEYS.flatMap(({ variable }) => variable ?? []);
  for (const name of Object.keys(env)) {
    if (!name.startsWith("HARNESS_") || [...variables, ...OTHER_VARIABLES].includes(name)) continue;
    const near = nearest(name, variables);
    if (near !== undefined)
      problems.push({ where: "environment", key: name, text: `is not known; did you mean ${near}?` });
  }
  return KEYS.flatMap((key) => {
    const text = key.variable === undefined ? undefined : env[key.variable];
    return text === undefined || key.variable === undefined ? [] : fromKeyText(key, text, key.variable, problems);
  });
}

function fromFlag({ key, text, flag }: FlagValue, problems: Problem[]): readonly Setting[] {
  const found = KEYS.find(({ path }) => path.join(".") === key);
  if (found?.variable !== undefined) return fromKeyText(found, text, flag, problems);
  const keys = KEYS.filter(({ variable }) => variable !== undefined).map(({ path }) => path.join("."));
  const near = nearest(key, keys);
  const mend = near === undefined ? "harness config lists the keys" : `did you mean ${near}?`;
  throw new ConfigError(`${flag}: ${key} is no key that can be set by a flag; ${mend}`);
}

function fromKeyText({ path, field }: Key, text: string, where: string, problems: Problem[]): readonly Setting[] {
  const json = fromSettings([{ path, value: fromText(field, text), where }]);
  return read(json, () => where, problems);
}

/** What the contract's rules say against the whole. */
function violations(config: Config, settings: ReadonlyMap<string, Setting>): readonly Problem[] {
  const result = createValidator().validate(ConfigSchema, config);
  if (result.kind !== "invalid") return [];
  return result.violations.map(({ field, message }) => {
    const path = field.map(toKey);
    const setting = [...settings.values()].find((one) => one.path.every((key, index) => key === path[index]));
    return { where: setting?.where ?? "configuration", key: path.join("."), text: message };
  });
}

function toKey(part: Path[number]): string {
  if (part.kind === "list_sub") return String(part.index);
  return part.kind === "map_sub" ? String(part.key) : part.name;
}
