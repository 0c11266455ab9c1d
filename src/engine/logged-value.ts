import { type JsonValue, toBinary } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { MAX_JSON_DEPTH } from "../core/check-json.js";
import { MAX_EVENT_BYTES } from "../core/limits.js";
import { toValue } from "./contract-values.js";
import { toJson } from "./message.js";

/** A value that is longer than this as JSON is not in the log whole, in characters. */
const MAX_LOGGED_CHARS = 65_536;
/** The same of its encoding, in bytes: the rest of an event fits beside it. */
const MAX_LOGGED_BYTES = MAX_EVENT_BYTES / 2;
const KEPT_CHARS = 4_096;
/** A character of JSON is never more bytes than this, encoded: a digit of a list is the most. */
const MOST_BYTES_A_CHAR = 8;

/** Returns a value as it goes into the log: what is too long or too deep is there in part, null where JSON cannot say it. */
export function toLogged(value: unknown): Value {
  const json = toJson(value) ?? null;
  const text = JSON.stringify(json);
  const limits = { chars: MAX_LOGGED_CHARS, bytes: MAX_LOGGED_BYTES, depth: MAX_JSON_DEPTH };
  return toValue(
    isWithin(json, text, limits) ? json : { truncated: true, characters: text.length, ...beginning(text) },
  );
}

function beginning(text: string) {
  return { beginning: text.slice(0, KEPT_CHARS).toWellFormed() };
}

/** Returns whether a value may be stored: `text` is its JSON, bytes are of its encoding, depth is how many objects and lists are inside one another. */
export function isWithin(
  json: JsonValue,
  text: string,
  { chars, bytes, depth }: { readonly chars: number; readonly bytes: number; readonly depth: number },
): boolean {
  if (text.length > chars || depthOf(json) > depth) return false;
  return text.length * MOST_BYTES_A_CHAR <= bytes || toBinary(ValueSchema, toValue(json)).length <= bytes;
}

function depthOf(json: JsonValue): number {
  if (typeof json !== "object" || json === null) return 0;
  let deepest = 0;
  for (const item of Object.values(json)) deepest = Math.max(deepest, depthOf(item));
  return deepest + 1;
}
