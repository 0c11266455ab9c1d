import { cors } from "@connectrpc/connect";
import type { AccessPolicy, RequestSource } from "./access.js";
import type { NodeRequest, NodeResponse } from "./listener.js";
import { respond } from "./respond.js";

const EXPOSED_HEADERS = cors.exposedHeaders.join(", ");

const PREFLIGHT_FIELDS = {
  "access-control-allow-methods": cors.allowedMethods.join(", "),
  "access-control-allow-headers": [...cors.allowedHeaders, "Authorization"].join(", "),
  // In seconds: as long as Chromium keeps an answer at most.
  "access-control-max-age": "7200",
};

/** Lets pages of a listed origin read the response. */
export function allowOrigin(response: NodeResponse, { origin }: RequestSource, access: AccessPolicy): void {
  if (origin === undefined) return;
  response.setHeader("vary", "origin");
  if (!access.allowsCors(origin)) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", EXPOSED_HEADERS);
}

/** Answers a browser that asks before it calls; returns whether this was one. */
export function answerPreflight(
  request: NodeRequest,
  response: NodeResponse,
  source: RequestSource,
  access: AccessPolicy,
): boolean {
  if (request.method !== "OPTIONS") return false;
  const allowed =
    source.origin !== undefined && access.allowsCors(source.origin) && access.refuseHost(source) === undefined;
  respond(response, allowed ? 204 : 403, allowed ? PREFLIGHT_FIELDS : {});
  return true;
}
