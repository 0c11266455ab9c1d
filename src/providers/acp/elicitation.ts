import type { CreateElicitationResponse } from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import { ActionKind } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { cutText } from "../../core/cut-text.js";
import type { ActionAnswer, ActionInit } from "../../core/provider.js";
import { compile } from "../../core/schema.js";
import { boundedObject, type Fields, fieldsOf, textOf } from "./json.js";

const TITLE_BYTES = 500;
const SCHEMA_BYTES = 40 * 1024;

/** Returns the action for an `elicitation/create`; undefined for another mode than `form` and for a schema that is none. */
export function toInputAction(params: Fields, turn: number, occurrence: number): ActionInit | undefined {
  const inputSchema = schemaOf(fieldsOf(params["requestedSchema"]));
  if (params["mode"] !== "form" || !isSchema(inputSchema)) return undefined;
  const message = textOf(params["message"]) ?? "The agent asks for input";
  return {
    key: `elicitation:${turn}:${occurrence}`,
    kind: ActionKind.INPUT,
    title: cutText(message, TITLE_BYTES).text,
    description: Buffer.byteLength(message) > TITLE_BYTES ? cutText(message, SCHEMA_BYTES / 4).text : "",
    inputSchema,
  };
}

function isSchema(schema: JsonObject): boolean {
  try {
    compile(schema);
    return true;
  } catch {
    return false;
  }
}

/** The form's schema is JSON Schema but for the nulls that some agents write for what they leave out. */
function schemaOf(requested: Fields): JsonObject {
  return { type: "object", ...(withoutNulls(boundedObject(requested, SCHEMA_BYTES)) as JsonObject) };
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

/** Returns what the agent is told: the form's values, or that nobody filled it in. */
export function toElicitationResponse({ value, expired }: ActionAnswer): CreateElicitationResponse {
  if (expired || value === undefined) return { action: "cancel" };
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { action: "decline" };
  return { action: "accept", content: value as Record<string, string> };
}
