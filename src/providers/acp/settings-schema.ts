import type { JsonObject } from "@bufbuild/protobuf";
import { PRESETS } from "./presets.js";

const text = { type: "string", minLength: 1 };
const texts = { type: "array", items: { type: "string" } };
const textMap = { type: "object", additionalProperties: { type: "string" } };
const positive = { type: "integer", minimum: 1 };

/** One MCP server: a program, or an address. */
const mcpServer: JsonObject = {
  type: "object",
  additionalProperties: false,
  properties: {
    command: text,
    args: texts,
    env: textMap,
    url: text,
    headers: textMap,
    type: { enum: ["http", "sse"] },
  },
  oneOf: [{ required: ["command"] }, { required: ["url"] }],
};

/** The settings of an ACP provider as they stand in a configuration file. */
export const SETTINGS_SCHEMA: JsonObject = {
  type: "object",
  additionalProperties: false,
  anyOf: [{ required: ["agent"] }, { required: ["command"] }],
  properties: {
    id: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" },
    name: text,
    agent: { enum: Object.keys(PRESETS) },
    command: text,
    args: texts,
    cwd: text,
    roots: texts,
    env: textMap,
    inherit_env: texts,
    files: { enum: ["none", "write", "read_write"] },
    terminals: { type: "boolean" },
    elicitation: { type: "boolean" },
    load_session: { type: "boolean" },
    auth_method: text,
    mode: text,
    mcp: {
      type: "object",
      additionalProperties: false,
      properties: {
        servers: { type: "object", additionalProperties: mcpServer },
        allow_commands: texts,
        allow_origins: texts,
      },
    },
    containment: { enum: ["auto", "full", "marked", "best_effort"] },
    capacity: positive,
    limits: {
      type: "object",
      additionalProperties: false,
      properties: {
        initialize_ms: positive,
        session_ms: positive,
        turn_ms: positive,
        interrupt_ms: positive,
        cancel_ms: positive,
        eof_ms: positive,
        term_ms: positive,
        idle_ms: positive,
        max_idle: { type: "integer", minimum: 0 },
        max_line_bytes: { type: "integer", minimum: 65_536 },
      },
    },
  },
};

/** An execution's config. */
export const CONFIG_SCHEMA: JsonObject = {
  type: "object",
  additionalProperties: false,
  properties: {
    cwd: { ...text, description: "The folder to work in, absolute, inside one of the provider's roots." },
    mode: { ...text, description: "The agent's mode, by its ID." },
    mcp_servers: {
      type: "object",
      description:
        "MCP servers by name: true for one of the provider's own, else a definition that its allowlist permits.",
      maxProperties: 32,
      additionalProperties: { anyOf: [{ const: true }, mcpServer] },
    },
  },
};
