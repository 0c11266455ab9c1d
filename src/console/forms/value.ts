import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Field, isObject, type Property } from "./field.js";

/** What is wrong with a value, and where. */
export interface Flaw {
  /** The field's path, as the server writes it: `steps[0].text`. Empty for the whole. */
  readonly path: string;
  readonly text: string;
}

/** What a form begins with; undefined where nothing has to be there. */
export function initialValue(field: Field): JsonValue | undefined {
  if (field.initial !== undefined) return field.initial;
  switch (field.kind) {
    case "object":
      return objectOf(
        field.properties.map(({ name, required, field: inner }) => [
          name,
          required || inner.initial !== undefined ? initialValue(inner) : undefined,
        ]),
      );
    case "one of": {
      const [first] = field.properties;
      return first === undefined ? {} : { [first.name]: initialValue(first.field) ?? emptyValue(first.field) };
    }
    case "array":
      return Array.from({ length: field.minItems }, () => newItem(field.item));
    default:
      return undefined;
  }
}

/** What a new item of a list begins with. */
export function newItem(item: Field): JsonValue {
  return initialValue(item) ?? emptyValue(item);
}

/** The least that is a value at all, so that it can be seen and changed. */
function emptyValue(field: Field): JsonValue {
  switch (field.kind) {
    case "text":
      return "";
    case "number":
      return Math.max(0, field.minimum ?? 0);
    case "boolean":
      return false;
    case "choice":
      return field.options[0]?.value ?? null;
    case "array":
      return [];
    case "object":
    case "one of":
      return {};
    default:
      return null;
  }
}

/** An object with a property changed, or, with undefined, without it. */
export function withProperty(value: JsonValue | undefined, name: string, property: JsonValue | undefined): JsonObject {
  const object = isObject(value) ? value : {};
  const rest = Object.entries(object).filter(([key]) => key !== name);
  if (property === undefined) return Object.fromEntries(rest);
  // The order of a form is that of its schema; a property that is changed stays where it is.
  return name in object ? { ...object, [name]: property } : Object.fromEntries([...rest, [name, property]]);
}

/** Finds what the form itself can tell is wrong; the server, which knows the whole schema, has the last word. */
export function findFlaws(field: Field, value: JsonValue | undefined, path = ""): readonly Flaw[] {
  if (value === undefined) return [];
  switch (field.kind) {
    case "text":
      return textFlaws(field, value, path);
    case "number":
      return numberFlaws(field, value, path);
    case "object":
    case "one of":
      return isObject(value)
        ? field.properties.flatMap((property) => propertyFlaws(property, value, path))
        : [{ path, text: "must be an object" }];
    case "array":
      return Array.isArray(value)
        ? value.flatMap((item, index) => findFlaws(field.item, item, `${path}[${index}]`))
        : [{ path, text: "must be a list" }];
    default:
      return [];
  }
}

function propertyFlaws({ name, required, field }: Property, value: JsonObject, path: string): readonly Flaw[] {
  const inner = path === "" ? name : `${path}.${name}`;
  const found = value[name];
  if (found === undefined) return required ? [{ path: inner, text: "is required" }] : [];
  return findFlaws(field, found, inner);
}

function textFlaws(field: Field & { kind: "text" }, value: JsonValue, path: string): readonly Flaw[] {
  // A schema may take other types as well.
  if (typeof value !== "string") return [];
  if (value.length < field.minLength) return [{ path, text: `needs ${field.minLength} or more characters` }];
  if (field.pattern === undefined) return [];
  try {
    return new RegExp(field.pattern, "u").test(value) ? [] : [{ path, text: `must match ${field.pattern}` }];
  } catch {
    return [];
  }
}

function numberFlaws(field: Field & { kind: "number" }, value: JsonValue, path: string): readonly Flaw[] {
  if (typeof value !== "number") return [{ path, text: "must be a number" }];
  const { minimum, maximum, integer } = field;
  if (integer && !Number.isInteger(value)) return [{ path, text: "must be a whole number" }];
  if (minimum !== undefined && value < minimum) return [{ path, text: `must be ${minimum} or more` }];
  return maximum !== undefined && value > maximum ? [{ path, text: `must be ${maximum} or less` }] : [];
}

function objectOf(entries: readonly (readonly [string, JsonValue | undefined])[]): JsonObject {
  return Object.fromEntries(entries.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));
}
