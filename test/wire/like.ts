import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { eventsOf, isObject, type Outcome } from "./question.js";

/** `null` is an absent field, `*` any that is set, `$name` what was saved; objects may have more fields, lists not more items. */
export function isLike(actual: JsonValue | undefined, expected: JsonValue, saved: JsonObject): boolean {
  if (expected === null) return actual === undefined;
  if (expected === "*") return actual !== undefined && actual !== "";
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((item, index) => isLike(actual[index], item, saved));
  }
  if (isObject(expected)) {
    return isObject(actual) && Object.entries(expected).every(([key, value]) => isLike(actual[key], value, saved));
  }
  return actual === fill(expected, saved);
}

/** The value with what was saved in the place of `$name`. */
export function fill(value: JsonValue, saved: JsonObject): JsonValue {
  if (typeof value === "string" && value.startsWith("$")) return mustHave(saved, value.slice(1));
  if (Array.isArray(value)) return value.map((item) => fill(item, saved));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, saved)]));
}

function mustHave(saved: JsonObject, name: string): JsonValue {
  const value = saved[name];
  if (value === undefined) throw new Error(`nothing was saved as ${name}`);
  return value;
}

/** Finds the first value at a path such as `execution.id`, or `events.action_required.action.id` over a stream's events. */
export function mustFind(outcomes: readonly Outcome[], path: string): JsonValue {
  const [head = "", ...rest] = path.split(".");
  const roots =
    head === "events"
      ? outcomes.flatMap(eventsOf).map(({ type, data }) => ({ [type.replaceAll(".", "_")]: data }))
      : outcomes.flatMap(({ responses }) => responses);
  const keys = head === "events" ? rest : [head, ...rest];
  for (const root of roots) {
    const value = keys.reduce<JsonValue | undefined>((at, key) => stepInto(at, key), root);
    if (value !== undefined) return value;
  }
  throw new Error(`no ${path} in ${JSON.stringify(outcomes)}`);
}

function stepInto(at: JsonValue | undefined, key: string): JsonValue | undefined {
  if (Array.isArray(at)) return at[Number(key)];
  return isObject(at) ? at[key] : undefined;
}
