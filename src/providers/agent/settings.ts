import type { JsonObject } from "@bufbuild/protobuf";
import { invalid } from "../../core/errors.js";
import { checkSchema } from "../../core/schema.js";
import type { HarnessBudgets } from "../../engine/budgets.js";
import type { ReflectionOptions } from "../../engine/stock/reflection.js";
import type { SummaryOptions } from "../../engine/stock/summary.js";
import { SETTINGS_SCHEMA } from "./settings-schema.js";

/** An agent that this process runs itself, without code: a model, tools, and what it may do. */
export interface AgentSettings {
  /** The provider's id. Default `agent`. */
  readonly id?: string;
  /** The models by role; `main` answers. At least `main`. */
  readonly models: Readonly<Record<string, ModelSettings>>;
  /** System text. */
  readonly instructions?: string;
  readonly temperature?: number;
  /** The most tokens of one answer. */
  readonly maxTokens?: number;
  /** The most model calls of one turn. Default 50. */
  readonly maxSteps?: number;
  /** A JSON Schema that the final answer must fit. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** Whether the answer is shown as it is written. Default true. */
  readonly stream?: boolean;
  /** MCP servers by name; each execution has connections and processes of its own. */
  readonly mcp?: Readonly<Record<string, McpSettings>>;
  /** The tools that may be called, prefixes included. Default `all` that the servers have. */
  readonly tools?: "all" | readonly string[];
  /** Those of the tools without which no execution runs. */
  readonly requiredTools?: readonly string[];
  /** The calls that somebody must approve: `unsafe` is every one that its server does not call read-only. Default `unsafe`. */
  readonly approvals?: "none" | "all" | "unsafe" | readonly string[];
  readonly budgets?: HarnessBudgets;
  /** A critic that judges each answer. Its role must be among the models. */
  readonly critic?: Omit<ReflectionOptions, "id">;
  /** Sums up old tool calls once the messages grow long. Its role must be among the models. */
  readonly summary?: Omit<SummaryOptions, "id">;
  /** The most executions at a time. Default 64. */
  readonly capacity?: number;
}

/** Where a model is and what it is called there. */
export interface ModelSettings {
  /** The wire format: any server that speaks OpenAI's Chat Completions, or Anthropic's, or Google's. */
  readonly provider: "openai-compatible" | "anthropic" | "google";
  readonly model: string;
  /** Required for `openai-compatible`, such as `http://127.0.0.1:11434/v1`. Default: the vendor's own. */
  readonly baseUrl?: string;
  /** The variable of the environment that holds the key. Default: the vendor's usual one; none for `openai-compatible`. */
  readonly apiKeyEnv?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default 2. */
  readonly maxRetries?: number;
}

/** One MCP server: `command` or `url`. */
export interface McpSettings {
  readonly command?: string;
  readonly args?: readonly string[];
  /** Variables that the process gets, beside the few that every program needs. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further variables of the runtime that it gets where they are set. */
  readonly inheritEnv?: readonly string[];
  readonly cwd?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Put before each tool's name. Default: none. */
  readonly prefix?: string;
  /** Only these tools, by the server's own names. Default: all. */
  readonly only?: readonly string[];
}

/** The role that answers. */
export const MAIN_ROLE = "main";

/**
 * Reads settings as they stand in a configuration file, with names in snake_case.
 * Throws VALIDATION_ERROR that names every field at fault.
 */
export function parseAgentSettings(json: JsonObject): AgentSettings {
  checkSchema(SETTINGS_SCHEMA, json, "agent");
  const { model, models, mcp, budgets, critic, summary, output_schema, ...rest } = json;
  const settings = {
    ...camelCased(rest),
    models: { ...eachCamelCased(models), ...(model === undefined ? {} : { [MAIN_ROLE]: withoutCase(model) }) },
    ...(mcp === undefined ? {} : { mcp: eachCamelCased(mcp) }),
    ...(budgets === undefined ? {} : { budgets: camelCased(budgets as JsonObject) }),
    ...(critic === undefined ? {} : { critic: camelCased(critic as JsonObject) }),
    ...(summary === undefined ? {} : { summary: camelCased(summary as JsonObject) }),
    ...(output_schema === undefined ? {} : { outputSchema: output_schema }),
  } as unknown as AgentSettings;
  checkAgentSettings(settings);
  return settings;
}

/** Checks what a schema cannot say. Throws VALIDATION_ERROR. */
export function checkAgentSettings(settings: AgentSettings): void {
  const { models, critic, summary } = settings;
  if (models[MAIN_ROLE] === undefined) throw invalid("agent.models", "names no model for the role main");
  for (const [name, { provider, baseUrl }] of Object.entries(models)) {
    if (provider !== "openai-compatible" || baseUrl !== undefined) continue;
    throw invalid(
      `agent.models.${name}.base_url`,
      "is required for openai-compatible, such as http://127.0.0.1:11434/v1",
    );
  }
  if (critic !== undefined) mustBind("agent.critic.role", critic.role ?? "critic", models);
  if (summary !== undefined) mustBind("agent.summary.role", summary.role ?? "summary", models);
  checkTools(settings);
}

function checkTools({ tools = "all", requiredTools = [], mcp }: AgentSettings): void {
  if (tools === "all") return;
  const missing = requiredTools.find((name) => !tools.includes(name));
  if (missing !== undefined) throw invalid("agent.required_tools", `${JSON.stringify(missing)} is not among the tools`);
  if (mcp === undefined && tools.length > 0) {
    throw invalid("agent.tools", "names tools, and no MCP server has any; add one under mcp");
  }
}

function mustBind(field: string, role: string, models: AgentSettings["models"]): void {
  if (models[role] === undefined) {
    throw invalid(field, `the role ${JSON.stringify(role)} has no model; add it under models`);
  }
}

/** Headers and variables keep their names. */
function withoutCase(value: unknown): Record<string, unknown> {
  const { headers, env, ...rest } = value as JsonObject;
  return { ...camelCased(rest), ...(headers === undefined ? {} : { headers }), ...(env === undefined ? {} : { env }) };
}

function eachCamelCased(map: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries((map ?? {}) as JsonObject).map(([name, value]) => [name, withoutCase(value)]),
  );
}

function camelCased(json: JsonObject): Record<string, unknown> {
  const toCamel = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [toCamel(name), value]));
}
