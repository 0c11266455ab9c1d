import { type DescMessage, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";

/** A value as JSON; undefined where it is unset. */
export function jsonOf(value: Value | undefined): JsonValue | undefined {
  return value === undefined || value.kind.case === undefined ? undefined : toJson(ValueSchema, value);
}

/** A message as its JSON form says it, in the contract's own field names, over several lines. */
export function messageText<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string {
  return prettyJson(toJson(schema, message, { useProtoFieldName: true }));
}

export function prettyJson(value: JsonValue | undefined): string {
  return JSON.stringify(value, undefined, 2) ?? "";
}

/** A text as it is, any other value as JSON over several lines. */
export function jsonText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : prettyJson(value);
}

/** JSON in one line of at most `length` characters, for a summary. */
export function shortJson(value: JsonValue | undefined, length = 160): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return oneLine(text, length);
}

/** The beginning of a text without its line breaks, never cut inside a character. */
export function oneLine(text: string, length = 160): string {
  // Twice as much is looked at as is shown, so that a text of megabytes costs nothing.
  const line = text
    .slice(0, length * 2)
    .replace(/\s+/gu, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length <= length && text.length <= length * 2 ? line : `${characters.slice(0, length).join("")}…`;
}
