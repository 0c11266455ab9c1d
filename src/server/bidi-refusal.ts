import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { envelope } from "./event-frames.js";
import type { NodeRequest, NodeResponse } from "./listener.js";
import { respond } from "./respond.js";

const END_STREAM = 0b10;

/**
 * Answers a bidi call over HTTP/1.1, which cannot carry one, at once and without
 * waiting for a body that may never end, in the words of the caller's protocol.
 */
export function refuseBidi(method: DescMethod, request: NodeRequest, response: NodeResponse): void {
  const message = `${method.name} is a bidirectional stream and needs HTTP/2: over HTTP/1.1 use the unary and server-streaming methods`;
  const error = { code: "unimplemented", message };
  const contentType = request.headers["content-type"] ?? "";
  // What is left of the body is never read, so the connection cannot be used again.
  const connection = "close";
  if (contentType.startsWith("application/grpc-web")) {
    const status = { "grpc-status": String(Code.Unimplemented), "grpc-message": encodeURIComponent(message) };
    respond(response, 200, { connection, "content-type": contentType, ...status });
  } else if (contentType.startsWith("application/connect+")) {
    const end = envelope(Buffer.from(JSON.stringify({ error })));
    end[0] = END_STREAM;
    respond(response, 200, { connection, "content-type": contentType }, end);
  } else {
    respond(response, 505, { connection, "content-type": "application/json" }, JSON.stringify(error));
  }
}
