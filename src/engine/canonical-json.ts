import { createHash } from "node:crypto";

/**
 * Returns a JSON value's canonical text (RFC 8785 for what JSON.parse can give:
 * keys sorted by UTF-16 code unit, no white space), so that equal values have
 * equal texts whatever the order of their keys.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sortKeys(value)) ?? "null";
}

/** Returns the SHA-256 of a value's canonical text, in lower-case hexadecimal. */
export function canonicalSha256(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  if ("toJSON" in value && typeof value.toJSON === "function") return sortKeys(value.toJSON());
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}
