import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** What every field of a form has. */
interface FieldBase {
  /** Empty where the schema gives none: then the property's name stands for it. */
  readonly title: string;
  readonly description: string;
  /** What the field holds before anybody touched it. */
  readonly initial: JsonValue | undefined;
}

/** One property of an object. */
export interface Property {
  readonly name: string;
  readonly required: boolean;
  readonly field: Field;
}

/** A part of a form, as a JSON Schema asks for it. What no other kind can show is `json`: a text to write JSON in. */
export type Field = FieldBase &
  (
    | {
        readonly kind: "text";
        readonly long: boolean;
        readonly minLength: number;
        readonly maxLength: number | undefined;
        readonly pattern: string | undefined;
      }
    | {
        readonly kind: "number";
        readonly integer: boolean;
        readonly minimum: number | undefined;
        readonly maximum: number | undefined;
      }
    | { readonly kind: "boolean" }
    | { readonly kind: "constant"; readonly value: JsonValue }
    | { readonly kind: "choice"; readonly options: readonly Option[] }
    | { readonly kind: "object"; readonly properties: readonly Property[] }
    /** An object with exactly one of these properties. */
    | { readonly kind: "one of"; readonly properties: readonly Property[] }
    | { readonly kind: "array"; readonly item: Field; readonly minItems: number; readonly maxItems: number | undefined }
    | { readonly kind: "json" }
  );

export interface Option {
  readonly label: string;
  readonly value: JsonValue;
}

/** Schemas nest no deeper in a form; what lies deeper is written as JSON. */
const MAX_DEPTH = 8;

/** Reads a JSON Schema as a form. `undefined`, as an absent schema, takes any value. */
export function parseField(schema: JsonValue | undefined): Field {
  return fieldOf(schema, isObject(schema) ? schema : {}, MAX_DEPTH);
}

/** Whether a form of this field is of use: it asks for something by name. */
export function hasForm(field: Field): boolean {
  return field.kind !== "json" && !(field.kind === "object" && field.properties.length === 0);
}

function fieldOf(given: JsonValue | undefined, root: JsonObject, depth: number): Field {
  const schema = resolve(given, root);
  if (schema === undefined || depth === 0) return { ...NO_WORDS, kind: "json" };
  const base = wordsOf(schema);
  if ("const" in schema) return { ...base, kind: "constant", initial: schema["const"], value: schema["const"] ?? null };
  const options = optionsOf(schema, root);
  if (options !== undefined) return { ...base, kind: "choice", options };
  switch (typeOf(schema)) {
    case "string":
      return { ...base, ...textRules(schema) };
    case "integer":
    case "number":
      return { ...base, ...numberRules(schema) };
    case "boolean":
      return { ...base, kind: "boolean" };
    case "array":
      return { ...base, ...arrayRules(schema, root, depth) };
    case "object":
      return { ...base, ...objectRules(schema, root, depth) };
    default:
      return { ...base, kind: "json" };
  }
}

const NO_WORDS = { title: "", description: "", initial: undefined } as const;

function wordsOf(schema: JsonObject): FieldBase {
  return { title: text(schema["title"]), description: text(schema["description"]), initial: schema["default"] };
}

/** The first of several types that a form can show. */
function typeOf({ type, properties, items }: JsonObject): string | undefined {
  if (typeof type === "string") return type;
  if (Array.isArray(type)) return type.find((name) => name !== "null") as string | undefined;
  if (isObject(properties)) return "object";
  return items === undefined ? undefined : "array";
}

function textRules(schema: JsonObject) {
  const { minLength, maxLength, pattern, format } = schema;
  const longest = number(maxLength);
  return {
    kind: "text" as const,
    long: format === undefined && pattern === undefined && (longest === undefined || longest > 120),
    minLength: number(minLength) ?? 0,
    maxLength: longest,
    pattern: typeof pattern === "string" ? pattern : undefined,
  };
}

function numberRules(schema: JsonObject) {
  const integer = typeOf(schema) === "integer";
  return { kind: "number" as const, integer, minimum: number(schema["minimum"]), maximum: number(schema["maximum"]) };
}

function arrayRules(schema: JsonObject, root: JsonObject, depth: number) {
  return {
    kind: "array" as const,
    item: fieldOf(schema["items"], root, depth - 1),
    minItems: number(schema["minItems"]) ?? 0,
    maxItems: number(schema["maxItems"]),
  };
}

function objectRules(schema: JsonObject, root: JsonObject, depth: number) {
  const { required, minProperties, maxProperties } = schema;
  const entries = Object.entries(isObject(schema["properties"]) ? schema["properties"] : {});
  if (entries.length === 0) return { kind: "json" as const };
  const properties = entries.map(([name, property]) => ({
    name,
    required: Array.isArray(required) && required.includes(name),
    field: fieldOf(property, root, depth - 1),
  }));
  return { kind: minProperties === 1 && maxProperties === 1 ? ("one of" as const) : ("object" as const), properties };
}

/** The values to choose from: `enum`, or `oneOf`/`anyOf` of constants. */
function optionsOf(schema: JsonObject, root: JsonObject): readonly Option[] | undefined {
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => ({ label: labelOf(value), value }));
  const cases = schema["oneOf"] ?? schema["anyOf"];
  if (!Array.isArray(cases)) return undefined;
  const options = cases.map((item) => {
    const choice = resolve(item, root);
    if (choice === undefined || !("const" in choice)) return undefined;
    const value = choice["const"] ?? null;
    return { label: text(choice["title"]) || labelOf(value), value };
  });
  return options.every((option) => option !== undefined) ? options : undefined;
}

function labelOf(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The schema itself, or the part of the document that it points to. */
function resolve(schema: JsonValue | undefined, root: JsonObject): JsonObject | undefined {
  if (!isObject(schema)) return undefined;
  const pointer = schema["$ref"];
  if (typeof pointer !== "string" || !pointer.startsWith("#/")) return schema;
  let found: JsonValue | undefined = root;
  for (const part of pointer.slice(2).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) ? found[name] : undefined;
  }
  return isObject(found) && !("$ref" in found) ? { ...found, ...without(schema, "$ref") } : undefined;
}

function without(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function number(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
