import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { cutText } from "../../core/cut-text.js";

/** An agent's data: any object, of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>;

/** Objects and lists deeper than this are left out. */
const DEEPEST = 40;
const CUT = " … [cut]";

/** Returns `value` as an object's fields; none where it is no object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Returns `value` where it is a string of at least one character. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the objects of a list; none where it is no list. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/**
 * Returns an agent's data as JSON that may be stored: long strings are cut and
 * long lists shortened so that it takes about `maxBytes`, and what JSON has no
 * form for is null.
 */
export function boundedJson(value: unknown, maxBytes: number): JsonValue {
  return bound(value, { left: maxBytes }, 0);
}

/** The same for an object. */
export function boundedObject(fields: Fields, maxBytes: number): JsonObject {
  return boundObject(fields, { left: maxBytes }, 0);
}

/** The same, as the contract's Value. */
export function boundedValue(value: unknown, maxBytes: number): Value {
  return fromJson(ValueSchema, boundedJson(value, maxBytes));
}

interface Budget {
  left: number;
}

function bound(value: unknown, budget: Budget, depth: number): JsonValue {
  if (typeof value === "string") return boundText(value, budget);
  budget.left -= 6;
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null || depth >= DEEPEST) return null;
  return Array.isArray(value) ? boundList(value, budget, depth) : boundObject(value as Fields, budget, depth);
}

function boundText(text: string, budget: Budget): string {
  const cut = cutText(text, Math.max(budget.left - CUT.length, 0));
  budget.left -= Buffer.byteLength(cut.text) + 2;
  return cut.truncated ? `${cut.text}${CUT}` : cut.text;
}

function boundList(list: readonly unknown[], budget: Budget, depth: number): JsonValue[] {
  const bounded: JsonValue[] = [];
  for (const item of list) {
    if (budget.left <= 0) break;
    bounded.push(bound(item, budget, depth + 1));
  }
  return bounded;
}

function boundObject(fields: Fields, budget: Budget, depth: number): JsonObject {
  const bounded: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    if (budget.left <= 0) break;
    if (value === undefined || name === "__proto__") continue;
    budget.left -= Buffer.byteLength(name) + 4;
    bounded[name] = bound(value, budget, depth + 1);
  }
  return bounded;
}
