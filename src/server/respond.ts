import type { NodeResponse } from "./listener.js";

/** Sends a whole response that is not an RPC's. Fields that were set before are kept. */
export function respond(
  response: NodeResponse,
  code: number,
  fields: Readonly<Record<string, string>>,
  body?: string | Uint8Array,
): void {
  response.statusCode = code;
  for (const [name, value] of Object.entries(fields)) response.setHeader(name, value);
  if (body === undefined) response.end();
  else response.end(body);
}

/** Sends one line of plain text. */
export function respondText(response: NodeResponse, code: number, text: string): void {
  respond(response, code, { "content-type": "text/plain; charset=utf-8" }, `${text}\n`);
}
