import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";

/** Returns a value as text: a string as it is, anything else as JSON. */
export function valueToText(value: Value): string {
  const json = valueToJson(value);
  return typeof json === "string" ? json : JSON.stringify(json);
}

/** Returns a value as plain JSON. A number that JSON has no form for throws. */
export function valueToJson(value: Value): JsonValue {
  return toJson(ValueSchema, value);
}
