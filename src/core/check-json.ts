import type { JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { invalid } from "./errors.js";

/** How many objects and lists a JSON value may have inside one another. */
export const MAX_JSON_DEPTH = 32;

/**
 * Checks that a value, as a caller or a provider sent it, has a form in JSON:
 * finite numbers only, each value of some kind, at most {@link MAX_JSON_DEPTH}
 * objects and lists inside one another. Fails with VALIDATION_ERROR, whose
 * field is the path of the first fault below `field`.
 */
export function checkJson(value: JsonValue, field: string): void {
  check(value, field, 0, itself);
}

/** Does what {@link checkJson} does for a value that came as a message. */
export function checkJsonValue(value: Value, field: string): void {
  check(value, field, 0, contentOf);
}

type Reader = (value: unknown) => unknown;

function check(value: unknown, field: string, depth: number, read: Reader): void {
  const plain = read(value);
  if (plain === null || typeof plain === "string" || typeof plain === "boolean") return;
  if (typeof plain === "number") {
    if (!Number.isFinite(plain)) throw invalid(field, `JSON has no form for ${plain}; use a finite number`);
    return;
  }
  if (typeof plain !== "object") {
    throw invalid(field, "it has no kind; use null, a number, a string, a boolean, an object or a list");
  }
  if (depth === MAX_JSON_DEPTH) {
    throw invalid(field, `at most ${MAX_JSON_DEPTH} objects and lists may be inside one another; use a flatter one`);
  }
  const isList = Array.isArray(plain);
  for (const [name, item] of Object.entries(plain)) {
    check(item, isList ? `${field}[${name}]` : `${field}.${name}`, depth + 1, read);
  }
}

function itself(value: unknown): unknown {
  return value;
}

/** Returns what a Value message holds, one level deep; undefined where its kind is missing. */
function contentOf(value: unknown): unknown {
  const { kind } = value as Value;
  switch (kind.case) {
    case "nullValue":
      return null;
    case "structValue":
      return kind.value.fields;
    case "listValue":
      return kind.value.values;
    default:
      return kind.value;
  }
}
