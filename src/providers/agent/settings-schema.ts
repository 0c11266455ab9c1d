import type { JsonObject } from "@bufbuild/protobuf";

const text = { type: "string", minLength: 1 };
const texts = { type: "array", items: text, uniqueItems: true };
const textMap = { type: "object", additionalProperties: { type: "string" } };
const positive = { type: "integer", minimum: 1 };
const count = { type: "integer", minimum: 0 };
const role = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" };

function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: "object", additionalProperties: false, required: [...required], properties };
}

const model = object(
  {
    provider: { enum: ["openai-compatible", "anthropic", "google"] },
    model: text,
    base_url: { type: "string", pattern: "^https?://" },
    api_key_env: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
    headers: textMap,
    max_retries: count,
  },
  ["provider", "model"],
);

/** One MCP server: a program, or an address. */
const mcpServer: JsonObject = {
  ...object({
    command: text,
    args: { type: "array", items: { type: "string" } },
    env: textMap,
    inherit_env: texts,
    cwd: text,
    url: { type: "string", pattern: "^https?://" },
    headers: textMap,
    prefix: { type: "string", pattern: "^[A-Za-z0-9_-]*$" },
    only: texts,
  }),
  oneOf: [{ required: ["command"] }, { required: ["url"] }],
};

/** The settings of an agent as they stand in a configuration file. */
export const SETTINGS_SCHEMA: JsonObject = {
  ...object({
    id: role,
    model,
    models: { type: "object", propertyNames: role, additionalProperties: model },
    instructions: text,
    temperature: { type: "number", minimum: 0 },
    max_tokens: positive,
    max_steps: positive,
    output_schema: { type: "object" },
    stream: { type: "boolean" },
    mcp: { type: "object", propertyNames: role, additionalProperties: mcpServer },
    tools: { oneOf: [{ const: "all" }, texts] },
    required_tools: texts,
    approvals: { oneOf: [{ enum: ["none", "all", "unsafe"] }, texts] },
    budgets: object({
      max_model_calls: count,
      max_tool_calls: count,
      max_tokens: count,
      max_revisions: count,
    }),
    critic: object({ role, criteria: text, max_revisions: positive, max_tokens: positive }, ["criteria"]),
    summary: object({ role, max_bytes: positive, keep_groups: count, max_tokens: positive }),
    capacity: positive,
  }),
  anyOf: [{ required: ["model"] }, { required: ["models"] }],
};
