import { basename, resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../../core/errors.js";
import { checkSchema } from "../../core/schema.js";
import type { ContainmentMode } from "../containment/containment.js";
import type { McpServerSettings, McpSettings } from "./mcp.js";
import { PRESETS, type Preset, type PresetName } from "./presets.js";
import { SETTINGS_SCHEMA } from "./settings-schema.js";

/** How an agent that speaks the Agent Client Protocol becomes a provider. One of `agent` and `command` is needed. */
export interface AcpSettings {
  /** The provider's ID. Default: `agent`, else the command's file name. */
  readonly id?: string;
  /** The provider's name for people. Default: the agent's. */
  readonly name?: string;
  /** A known agent; everything below may still be set. */
  readonly agent?: PresetName;
  /** The agent's program: a path, relative to the runtime's own folder, or a name that is on the PATH. */
  readonly command?: string;
  readonly args?: readonly string[];
  /** The folder that executions work in, relative to the runtime's own. Default: one for each conversation, in the data directory. */
  readonly cwd?: string;
  /** The folders in which an execution's `config.cwd` may lie. Default: `cwd`. */
  readonly roots?: readonly string[];
  /** Variables that the agent gets, beside the few that every program needs. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further variables of the runtime that the agent gets where they are set. */
  readonly inheritEnv?: readonly string[];
  /** Which of the protocol's file calls are offered. Default `write`: agents read the disk themselves, and some cannot make a file where reading is offered. */
  readonly files?: "none" | "write" | "read_write";
  /** Whether the agent may run commands through the runtime. Default true. */
  readonly terminals?: boolean;
  /** Whether the agent may ask for input by a form. Default: as the preset knows; true for any other agent. */
  readonly elicitation?: boolean;
  /** Whether the agent can load a session of an earlier process. Default: as the preset knows; any other agent is asked when the runtime starts. */
  readonly loadSession?: boolean;
  /** The agent's way to log in, by the ID that it gives it; used when it asks for a login. Default: the preset's for a credential that is set, else none, which fails. */
  readonly authMethod?: string;
  /** The agent's mode at the beginning of a session, by its ID. An execution's `config.mode` goes before it. */
  readonly mode?: string;
  readonly mcp?: Partial<McpSettings>;
  /** Default `auto`. */
  readonly containment?: ContainmentMode;
  /** The most executions at a time. Default 8. */
  readonly capacity?: number;
  readonly limits?: Partial<AcpLimits>;
}

/** Times in milliseconds, sizes in bytes. */
export interface AcpLimits {
  /** From the start of the agent to its answer to `initialize`. Default 60,000. */
  readonly initializeMs: number;
  /** For `session/new` and `session/load`, each. Default 60,000. */
  readonly sessionMs: number;
  /** For a turn, not counting the time in which somebody is asked. Default 3,600,000. */
  readonly turnMs: number;
  /** From the protocol's own cancel to the end of the agent's process, where a turn is replaced or over its time. Default 5,000. */
  readonly interruptMs: number;
  /** The same where the execution is cancelled; the process then ends in any case. Default 1,500. */
  readonly cancelMs: number;
  /** From the end of the agent's input to SIGTERM. Default 1,500. */
  readonly eofMs: number;
  /** From SIGTERM to SIGKILL. Default 1,000. */
  readonly termMs: number;
  /** For an agent that has nothing to do. Default 600,000. */
  readonly idleMs: number;
  /** Agents that have nothing to do and are kept. Default 8. */
  readonly maxIdle: number;
  /** A message of the agent. Default 8 MiB. */
  readonly maxLineBytes: number;
}

/** The same, with everything filled in. */
export interface AgentSettings {
  readonly id: string;
  readonly label: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute; undefined where each conversation has its own. */
  readonly cwd: string | undefined;
  readonly roots: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly inheritEnv: readonly string[];
  readonly files: "none" | "write" | "read_write";
  readonly terminals: boolean;
  readonly elicitation: boolean;
  /** Undefined: it is to be asked. */
  readonly loadSession: boolean | undefined;
  readonly authMethod: string;
  readonly mode: string;
  readonly mcp: McpSettings;
  readonly containment: ContainmentMode;
  readonly capacity: number;
  readonly limits: AcpLimits;
  readonly install: string;
  readonly login: string;
  readonly logins: Readonly<Record<string, string>>;
  readonly namesSessionsByMinute: boolean;
}

const DEFAULT_LIMITS: AcpLimits = {
  initializeMs: 60_000,
  sessionMs: 60_000,
  turnMs: 3_600_000,
  interruptMs: 5_000,
  cancelMs: 1_500,
  eofMs: 1_500,
  termMs: 1_000,
  idleMs: 600_000,
  maxIdle: 8,
  maxLineBytes: 8 * 1024 * 1024,
};

/** What a setting is where neither it nor a preset says so. */
const DEFAULTS = {
  label: "",
  command: "",
  args: [],
  install: "",
  login: "log in with the agent's own command",
  logins: {},
  namesSessionsByMinute: false,
  files: "write",
  terminals: true,
  elicitation: true,
  loadSession: undefined,
  authMethod: "",
  mode: "",
  containment: "auto",
  capacity: 8,
} as const;

/** Fills in what is not set. Throws VALIDATION_ERROR where neither `agent` nor `command` is. */
export function resolveSettings(settings: AcpSettings): AgentSettings {
  const preset: Partial<Preset> = settings.agent === undefined ? {} : PRESETS[settings.agent];
  const { name, cwd, roots, ...given } = settings;
  const known = { ...DEFAULTS, ...preset, ...given };
  if (known.command === "") {
    throw new HarnessError(
      ErrorReason.VALIDATION_ERROR,
      `an ACP provider needs \`agent\` (${Object.keys(PRESETS).join(", ")}) or \`command\``,
    );
  }
  const id = known.id ?? known.agent ?? basename(known.command);
  const folder = cwd === undefined ? undefined : resolve(cwd);
  return {
    ...known,
    id,
    label: name ?? (known.label || id),
    command: programOf(known.command),
    cwd: folder,
    roots: roots?.map((root) => resolve(root)) ?? (folder === undefined ? [] : [folder]),
    env: { ...preset.env, ...settings.env },
    inheritEnv: [...(preset.inheritEnv ?? []), ...(settings.inheritEnv ?? [])],
    mcp: { servers: {}, allowCommands: [], allowOrigins: [], ...settings.mcp },
    limits: { ...DEFAULT_LIMITS, ...settings.limits },
  };
}

/** A path begins at the runtime's own folder, not where the agent then runs: a client may name that. */
function programOf(command: string): string {
  return command.includes("/") ? resolve(command) : command;
}

/**
 * Reads settings as they stand in a configuration file, with names in
 * snake_case. Throws VALIDATION_ERROR that names every field at fault.
 */
export function parseAcpSettings(json: JsonObject): AcpSettings {
  checkSchema(SETTINGS_SCHEMA, json, "acp");
  const { mcp, limits, env, ...rest } = json;
  const settings = {
    ...camelCased(rest),
    ...(env === undefined ? {} : { env }),
    ...(limits === undefined ? {} : { limits: camelCased(limits as JsonObject) }),
    ...(mcp === undefined ? {} : { mcp: parseMcp(mcp as JsonObject) }),
  } as AcpSettings;
  resolveSettings(settings);
  return settings;
}

function parseMcp(json: JsonObject): Partial<McpSettings> {
  const { servers, ...allowed } = json;
  return {
    ...camelCased(allowed),
    ...(servers === undefined ? {} : { servers: servers as unknown as Record<string, McpServerSettings> }),
  };
}

function camelCased(json: JsonObject): Record<string, unknown> {
  const entries = Object.entries(json).map(([name, value]) => [
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(entries);
}
