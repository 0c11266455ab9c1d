import type { ErrorObject } from "ajv";
import type { FieldViolation } from "./errors.js";

/** How many keys or values are listed, at most, of those that a schema allows. */
const MOST_LISTED = 40;

/**
 * Says in plain words where a value breaks its schema and how to mend it; the
 * path begins with `field`. `error` must come from a verbose check: it has the
 * schema that was broken.
 */
export function toViolation(error: ErrorObject, field: string): FieldViolation {
  return { field: `${field}${pathOf(error.instancePath)}`, description: describe(error) };
}

function pathOf(pointer: string): string {
  const names = pointer.split("/").slice(1);
  return names.map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${unescaped(name)}`)).join("");
}

function unescaped(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

type Keywords = Readonly<Record<string, unknown>>;

/** What each keyword's error means; ajv's own words where there is none. */
const DESCRIPTIONS: Readonly<Record<string, (params: Keywords, schema: Keywords, data: unknown) => string>> = {
  additionalProperties: (params, schema) => unknownKey(params["additionalProperty"], schema),
  unevaluatedProperties: (params, schema) => unknownKey(params["unevaluatedProperty"], schema),
  required: (params) => `the key ${JSON.stringify(params["missingProperty"])} is missing`,
  type: (params) => `must be ${[params["type"]].flat().map(kindText).join(" or ")}`,
  enum: (params) => `must be one of ${listText(params["allowedValues"])}`,
  const: (params) => `must be ${JSON.stringify(params["allowedValue"])}`,
  minProperties: (params, schema) => `must have at least ${countText(params, "key")}${keysText(schema)}`,
  maxProperties: (params, _, data) => `must have at most ${countText(params, "key")}${givenText(data)}`,
  minItems: (params) => `must have at least ${countText(params, "item")}`,
  maxItems: (params) => `must have at most ${countText(params, "item")}`,
  minLength: (params) =>
    params["limit"] === 1 ? "must not be empty" : `must have at least ${countText(params, "character")}`,
  maxLength: (params) => `must have at most ${countText(params, "character")}`,
};

function describe({ keyword, params, parentSchema, data, message }: ErrorObject): string {
  return DESCRIPTIONS[keyword]?.(params, parentSchema ?? {}, data) ?? message ?? "does not fit its schema";
}

function unknownKey(key: unknown, schema: Keywords): string {
  return `the key ${JSON.stringify(key)} is not known${keysText(schema)}`;
}

/** The keys that a schema names, as the end of a sentence; nothing where it names none. */
function keysText({ properties, patternProperties }: Keywords): string {
  const keys = Object.keys(properties ?? {});
  const patterns = Object.keys(patternProperties ?? {}).map((pattern) => `those that match ${pattern}`);
  const all = [...keys, ...patterns];
  return all.length === 0 ? "" : `; there are ${cut(all).join(", ")}`;
}

/** The keys that a value has, as the end of a sentence. */
function givenText(data: unknown): string {
  return `; it has ${cut(Object.keys(data as object)).join(", ")}`;
}

function countText({ limit }: Keywords, noun: string): string {
  return `${limit} ${noun}${limit === 1 ? "" : "s"}`;
}

function listText(values: unknown): string {
  return Array.isArray(values) ? cut(values.map((value) => JSON.stringify(value))).join(", ") : "its values";
}

function cut(texts: readonly string[]): readonly string[] {
  return texts.length > MOST_LISTED ? [...texts.slice(0, MOST_LISTED), "…"] : texts;
}

const KINDS: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  integer: "a whole number",
  null: "null",
  number: "a number",
  object: "an object",
  string: "a string",
};

function kindText(type: unknown): string {
  return KINDS[String(type)] ?? String(type);
}
