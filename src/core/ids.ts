import { randomBytes } from "node:crypto";

/** The resources that the runtime names itself. */
export type IdKind = "execution" | "conversation" | "action" | "input";

/** Makes identifiers, as a parameter: tests count, production uses {@link randomIds}. */
export interface Ids {
  /** Returns a new identifier of at most 64 characters from `[a-z0-9_]`, unique over all tenants and nodes. */
  next(kind: IdKind): string;
}

const PREFIXES: Readonly<Record<IdKind, string>> = {
  execution: "exe",
  conversation: "cnv",
  action: "act",
  input: "inp",
};

/** Crockford's base 32 in lower case: sorts as its numbers do and has no letter that reads as a digit. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * Identifiers such as `exe_01jdq5x8k3v7c2m9r4t6w8y0ab`: 48 bits of time in
 * milliseconds and 80 random bits (the layout of ULID), so that newer ones
 * sort after older ones.
 */
export function randomIds(now: () => number): Ids {
  return { next: (kind) => `${PREFIXES[kind]}_${timePart(now())}${randomPart()}` };
}

function timePart(timeMs: number): string {
  let rest = timeMs;
  let text = "";
  for (let index = 0; index < 10; index++) {
    text = (ALPHABET[rest % 32] ?? "0") + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function randomPart(): string {
  let text = "";
  for (const byte of randomBytes(16)) text += ALPHABET[byte % 32];
  return text;
}
