import { invalid } from "../core/errors.js";

/** What each key of an object may hold; a key that is not named is refused. */
export interface KeyRules {
  readonly [key: string]: "string" | "number" | "boolean" | "strings" | "free" | KeyRules;
}

/** Checks an object against rules. Fails with VALIDATION_ERROR, naming the key by its path. */
export function checkKeys(path: string, value: unknown, rules: KeyRules, required: readonly string[] = []): void {
  if (!isObject(value)) throw invalid(path, "must be an object");
  for (const key of required) if (!Object.hasOwn(value, key)) throw invalid(`${path}.${key}`, "is required");
  for (const [key, item] of Object.entries(value)) checkKey(`${path}.${key}`, key, item, rules);
}

function checkKey(path: string, key: string, item: unknown, rules: KeyRules): void {
  const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
  if (rule === undefined) throw invalid(path, `is not known; known are ${Object.keys(rules).join(", ")}`);
  if (typeof rule === "object") checkKeys(path, item, rule);
  else if (!fits(item, rule)) throw invalid(path, EXPECTED[rule]);
}

/**
 * Returns the path of the first key, at any depth, that reads like a place for a
 * secret (`apiKey`, `auth_token`, `password`, …); undefined where there is none.
 */
export function secretKey(value: unknown, path = "manifest"): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const here = `${path}.${key}`;
    if (!Array.isArray(value) && looksSecret(key)) return here;
    const inside = secretKey(item, here);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

const SECRET_WORDS = [
  "secret",
  "secrets",
  "password",
  "passwd",
  "passphrase",
  "token",
  "credential",
  "credentials",
  "authorization",
  "bearer",
  "cookie",
];
const SECRET_PAIRS = ["api key", "access key", "private key", "signing key", "auth key"];

function looksSecret(key: string): boolean {
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[_\-.]+/g, " ")
    .toLowerCase()
    .trim();
  const joined = words.replace(/\s+/g, "");
  return (
    words.split(/\s+/).some((word) => SECRET_WORDS.includes(word)) ||
    SECRET_PAIRS.some((pair) => words.includes(pair) || joined.includes(pair.replace(" ", "")))
  );
}

const EXPECTED = {
  string: "must be a string",
  number: "must be a finite number",
  boolean: "must be true or false",
  strings: "must be a list of strings",
  free: "must be an object",
} as const;

function fits(item: unknown, rule: keyof typeof EXPECTED): boolean {
  if (rule === "strings") return Array.isArray(item) && item.every((entry) => typeof entry === "string");
  if (rule === "free") return isObject(item);
  if (rule === "number") return Number.isFinite(item);
  return typeof item === rule;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
