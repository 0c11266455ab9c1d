import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { DurationSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import { nearest } from "../../core/nearest.js";

/** Called with the path of a key, and what is wrong with it. */
export type Report = (path: readonly string[], text: string) => void;

/**
 * Turns configuration as people write it (short enum values, `30s`, keys as in the contract) into ProtoJSON of
 * `schema`. What cannot be read is reported and left out; null is left out.
 */
export function toCanonical(schema: DescMessage, json: JsonValue, path: readonly string[], report: Report): JsonObject {
  if (!isObject(json)) {
    report(path, `must be a map of ${schema.fields.map(({ name }) => name).join(", ")}`);
    return {};
  }
  const canonical: JsonObject = {};
  for (const [key, value] of Object.entries(json)) {
    const field = schema.fields.find(({ name }) => name === key);
    if (field === undefined) report([...path, key], unknownKey(key, schema));
    else if (value !== null) assign(canonical, field, value, [...path, key], report);
  }
  return canonical;
}

/** Returns whether `json` is a JSON object. */
export function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** Returns a value that was given as text, such as in the environment, as a configuration file would have it. */
export function fromText(field: DescField, text: string): JsonValue {
  if (field.fieldKind === "list") return text.split(",").map((item) => item.trim());
  if (field.fieldKind !== "scalar" || field.scalar === ScalarType.STRING) return text;
  if (/^(true|false)$/.test(text)) return text === "true";
  return /^-?\d+$/.test(text) ? Number(text) : text;
}

function assign(target: JsonObject, field: DescField, value: JsonValue, path: readonly string[], report: Report): void {
  try {
    const canonical = canonicalValue(field, value, path, report);
    fromJson(field.parent, { [field.name]: canonical });
    target[field.name] = canonical;
  } catch (error) {
    report(
      path,
      error instanceof WrongValue ? error.message : `must be ${kindOf(field)}, not ${JSON.stringify(value)}`,
    );
  }
}

class WrongValue extends Error {}

function canonicalValue(field: DescField, value: JsonValue, path: readonly string[], report: Report): JsonValue {
  if (field.fieldKind === "enum") return enumValue(field.enum, value);
  if (field.fieldKind === "message") return messageValue(field.message, value, path, report);
  if (field.fieldKind === "list" && field.listKind === "message" && Array.isArray(value)) {
    return value.map((item, index) => toCanonical(field.message, item, [...path, String(index)], report));
  }
  if (field.fieldKind === "map" && field.mapKind === "message" && isObject(value)) {
    return eachOf(value, (item, key) => messageValue(field.message, item, [...path, key], report));
  }
  const isText = field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
  return isText && typeof value === "number" ? String(value) : value;
}

function eachOf(map: JsonObject, canonicalOf: (item: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, item]) => [key, canonicalOf(item, key)]));
}

function messageValue(schema: DescMessage, value: JsonValue, path: readonly string[], report: Report): JsonValue {
  if (schema.typeName === StructSchema.typeName) return value;
  if (schema.typeName === DurationSchema.typeName) return durationValue(value);
  return toCanonical(schema, value, path, report);
}

const UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

function durationValue(value: JsonValue): string {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(value)) ?? [];
  if (amount === undefined)
    throw new WrongValue(`must be a duration such as 30s, 10m or 7d, not ${JSON.stringify(value)}`);
  return `${Number((Number(amount) * (UNITS[unit] ?? 1)).toFixed(6))}s`;
}

function enumValue(schema: DescEnum, value: JsonValue): string {
  const prefix = schema.sharedPrefix?.toUpperCase() ?? "";
  const named = schema.values.filter(({ number }) => number !== 0);
  const found = named.find(({ name }) => name.slice(prefix.length).toLowerCase() === value);
  if (found !== undefined) return found.name;
  const choices = named.map(({ name }) => name.slice(prefix.length).toLowerCase());
  throw new WrongValue(`must be one of ${choices.join(", ")}, not ${JSON.stringify(value)}`);
}

function kindOf(field: DescField): string {
  if (field.fieldKind === "list") return "a list";
  if (field.fieldKind !== "scalar") return "a map";
  return SCALARS[field.scalar] ?? "a whole number";
}

const SCALARS: { readonly [K in ScalarType]?: string } = {
  [ScalarType.STRING]: "text",
  [ScalarType.BOOL]: "true or false",
};

function unknownKey(key: string, schema: DescMessage): string {
  const names = schema.fields.map(({ name }) => name);
  const near = nearest(key, names);
  return `is not known; ${near === undefined ? `there are ${names.join(", ")}` : `did you mean ${near}?`}`;
}
