import type { JsonObject } from "@bufbuild/protobuf";
import { checkSchema } from "../core/schema.js";
import { messageOf } from "./errors.js";
import { isStandardSchema, type StandardSchema, type ToolDef, type ToolDefinition } from "./tool.js";

/** What checking a tool's arguments gives: the arguments to use, or what is wrong with them. */
export type CheckedArguments = { readonly args: Record<string, unknown> } | { readonly problem: string };

type Check = (value: unknown) => CheckedArguments | Promise<CheckedArguments>;

const checks = new WeakMap<ToolDef, Check>();
const definitions = new WeakMap<ToolDef, ToolDefinition>();

/** Returns what a model is told of a tool. Throws a TypeError where its schema cannot be given as JSON Schema. */
export function toToolDefinition(tool: ToolDef): ToolDefinition {
  let definition = definitions.get(tool);
  if (definition === undefined) {
    const { name, description, parameters } = tool;
    definition = {
      name,
      description,
      parameters: isStandardSchema(parameters) ? jsonSchemaOf(tool, parameters) : parameters,
    };
    definitions.set(tool, definition);
  }
  return definition;
}

/** Checks the arguments of a call against the tool's schema. Never rejects. */
export async function checkArguments(tool: ToolDef, value: unknown): Promise<CheckedArguments> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "the arguments must be an object" };
  try {
    let check = checks.get(tool);
    if (check === undefined) {
      check = toCheck(tool);
      checks.set(tool, check);
    }
    return await check(value);
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function toCheck({ parameters }: ToolDef): Check {
  if (isStandardSchema(parameters)) return (value) => checkStandard(parameters, value);
  // Which draft a schema names does not matter for what tools use of it.
  const { $schema: _draft, ...schema } = parameters;
  return (value) => {
    checkSchema(schema as JsonObject, value as JsonObject, "arguments");
    return { args: value as Record<string, unknown> };
  };
}

async function checkStandard(schema: StandardSchema, value: unknown): Promise<CheckedArguments> {
  // A copy: some libraries fill in defaults in place.
  const result = await schema["~standard"].validate(structuredClone(value));
  if (result.issues !== undefined) return { problem: result.issues.map(({ message }) => message).join("; ") };
  return { args: result.value as Record<string, unknown> };
}

function jsonSchemaOf({ name }: ToolDef, schema: StandardSchema): Record<string, unknown> {
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema === undefined) {
    throw new TypeError(
      `the schema of the tool ${name} (${vendor}) cannot give its JSON Schema; give a JSON Schema instead`,
    );
  }
  return jsonSchema.input({ target: "draft-2020-12" });
}
