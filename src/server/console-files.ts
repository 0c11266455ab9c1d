import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { WebPages } from "./adapter.js";
import type { NodeRequest, NodeResponse } from "./listener.js";
import { respond } from "./respond.js";

/** Where a build puts the console, seen from the built server: `dist/console`. */
const BUILT = fileURLToPath(new URL("../../console/", import.meta.url));

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** What lets a page do the least that it needs: code, styles and calls of its own origin, and nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const FIELDS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

interface File {
  readonly body: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Serves the console of this build; undefined where the server runs from its sources, which have none. */
export function openBuiltConsole(): WebPages | undefined {
  return existsSync(join(BUILT, "index.html")) ? openConsole(BUILT) : undefined;
}

/**
 * Serves the console: `index.html` at `/`, and its files, whose names change
 * with their content and which browsers keep for a year. All are read once, at
 * the start: there is nothing to reach outside `directory`. Throws where the
 * console was not built there.
 */
export function openConsole(directory: string): WebPages {
  const files = readFiles(directory);
  return (request, response) => {
    const file = files.get((request.url ?? "").split("?", 1)[0] ?? "");
    if (file === undefined || !(request.method === "GET" || request.method === "HEAD")) return false;
    send(file, request, response);
    return true;
  };
}

function readFiles(directory: string): ReadonlyMap<string, File> {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) in MEDIA_TYPES)
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join("/"));
  const files = new Map(names.map((name) => [`/${name}`, readFile(directory, name)]));
  const index = files.get("/index.html");
  if (index === undefined) throw new Error(`no console in ${directory}: npm run build makes it`);
  return files.set("/", index);
}

function readFile(directory: string, name: string): File {
  const body = readFileSync(join(directory, name));
  const hashed = name.startsWith("assets/");
  return {
    body,
    gzipped: gzipSync(body, { level: 9 }),
    etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`,
    fields: {
      ...FIELDS,
      "cache-control": hashed ? "public, max-age=31536000, immutable" : "no-cache",
      "content-type": MEDIA_TYPES[extname(name)] ?? "application/octet-stream",
      vary: "accept-encoding",
    },
  };
}

function send({ body, gzipped, etag, fields }: File, { headers, method }: NodeRequest, response: NodeResponse): void {
  const known = headers["if-none-match"]?.includes(etag) === true;
  if (known) {
    respond(response, 304, { ...fields, etag });
    return;
  }
  const zipped = /\bgzip\b/.test(String(headers["accept-encoding"] ?? ""));
  const bytes = zipped ? gzipped : body;
  const encoding: Record<string, string> = zipped ? { "content-encoding": "gzip" } : {};
  const all = { ...fields, ...encoding, etag, "content-length": String(bytes.length) };
  respond(response, 200, all, method === "HEAD" ? undefined : bytes);
}
