import { cutText } from "../../core/cut-text.js";

const REDACTED = "[redacted]";
/** Shorter values are words that would be struck out everywhere. */
const SHORTEST_SECRET = 8;
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie/i;

/** What credentials look like wherever they stand. */
const SECRET_FORMS: readonly RegExp[] = [
  /\b(?:sk|rk|pk)-[A-Za-z0-9_-]{12,}/g,
  /\bgh[a-z]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{10,}/g,
  /\bA[KS]IA[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g,
  /(?<=\b(?:bearer|basic)\s+)[A-Za-z0-9+/._~=-]{8,}/gi,
  /(?<=:\/\/)[^/\s:@]+:[^/\s@]+(?=@)/g,
  /(?<=(?:key|token|secret|password|passwd)["']?\s*[=:]\s*["']?)[^\s"'&,;]{6,}/gi,
];

/** Strikes out of a text what may be a credential. */
export type Redact = (text: string) => string;

/** Returns a function that strikes out what looks like a credential, and the values of `env` whose names say that they are. */
export function createRedact(env: Readonly<Record<string, string>>): Redact {
  const values = Object.entries(env)
    .filter(([name, value]) => SECRET_NAME.test(name) && value.length >= SHORTEST_SECRET)
    .map(([, value]) => value);
  return (text) => {
    let redacted = text;
    for (const value of values) redacted = redacted.replaceAll(value, REDACTED);
    for (const form of SECRET_FORMS) redacted = redacted.replace(form, REDACTED);
    return redacted;
  };
}

/** The last of what a program wrote, for messages. */
export interface OutputTail {
  add(chunk: Uint8Array): void;
  /** The last lines, redacted, with no control characters; empty where there were none. */
  text(): string;
}

const TAIL_BYTES = 8 * 1024;
const SHOWN_BYTES = 2 * 1024;

/** Keeps the last 8 KiB that are added, and shows the last 2 KiB of them. */
export function createOutputTail(redact: Redact): OutputTail {
  let tail: Uint8Array = new Uint8Array();
  return {
    add(chunk) {
      tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES);
    },
    text() {
      // Cut after redacting, so that no half of a credential stays.
      const lines = redact(cleanOf(new TextDecoder().decode(tail))).trim();
      return Buffer.byteLength(lines) <= SHOWN_BYTES ? lines : `…${lastPart(lines)}`;
    },
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be removed
const CONTROL = /\u001b\[[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f\ufffd]/g;

function cleanOf(text: string): string {
  return text.replaceAll(CONTROL, "");
}

function lastPart(text: string): string {
  const reversed = cutText([...text].reverse().join(""), SHOWN_BYTES).text;
  return [...reversed].reverse().join("");
}
