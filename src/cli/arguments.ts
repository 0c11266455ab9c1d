import { readFileSync } from "node:fs";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { messageOf } from "../core/message-of.js";
import { usageError } from "./cli-error.js";
import { jsonPlace } from "./json-place.js";

/** Reads the JSON of an option, which is the text itself or, after `@`, the name of a file with it. */
export function parseJson(option: string, text: string): JsonValue {
  const isFile = text.startsWith("@");
  const json = isFile ? readArgument(option, text.slice(1)) : text;
  try {
    return JSON.parse(json) as JsonValue;
  } catch (error) {
    const why = messageOf(error).replace(/ at position \d+.*$/s, "");
    throw usageError(`${option}${isFile ? ` ${text}` : ""}: ${why}, ${jsonPlace(json)}; give JSON, or @FILE`);
  }
}

function readArgument(option: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw usageError(`${option}: ${messageOf(error)}; give JSON, or @FILE`);
  }
}

/** The same for a JSON object. */
export function parseJsonObject(option: string, text: string): JsonObject {
  const value = parseJson(option, text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw usageError(`${option}: must be a JSON object, such as {"key": "value"}`);
}

/** Collects `k=v` options that may be given several times. */
export function collectLabel(text: string, labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  const split = text.indexOf("=");
  if (split < 1) throw usageError(`--label ${text}: must be KEY=VALUE`);
  return { ...labels, [text.slice(0, split)]: text.slice(split + 1) };
}

/** Collects options that may be given several times, or once with commas. */
export function collectList(text: string, list: readonly string[] = []): string[] {
  return [...list, ...text.split(",").map((item) => item.trim())];
}

/** Reads a whole number from `least`. */
export function parseCount(option: string, text: string, least = 0): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
  const from = least === 0 ? "" : ` from ${least}`;
  throw usageError(`${option}: must be a whole number${from}, not ${JSON.stringify(text)}`);
}

/** Reads a duration such as `500ms`, `30s`, `10m` or `2h`, in milliseconds. */
export function parseDurationMs(option: string, text: string): number {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  if (amount === undefined)
    throw usageError(`${option}: must be a duration such as 30s or 10m, not ${JSON.stringify(text)}`);
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
  return Number(amount) * (units[unit] ?? 1);
}

/** Reads names of an enum's values in any case, with `-` or `_`. */
export function parseEnum<E extends number>(
  option: string,
  names: Readonly<Record<string, string | E>>,
  texts: readonly string[],
): E[] {
  return texts.map((text) => {
    const value = names[text.toUpperCase().replaceAll("-", "_")];
    if (typeof value === "number" && value !== 0) return value;
    const choices = Object.keys(names).filter((name) => /^[A-Z]/.test(name) && name !== "UNSPECIFIED");
    throw usageError(`${option}: must be one of ${choices.join(", ").toLowerCase()}, not ${JSON.stringify(text)}`);
  });
}

/** Returns the text of an argument, or of standard input where it is `-`. */
export async function readText(text: string): Promise<string> {
  if (text !== "-") return text;
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8").replace(/\n$/, "");
}
