import { Code, ConnectError } from "@connectrpc/connect";

/** Media types of streams and of gRPC-Web: their bodies end with an envelope that says so, and need no help. */
const ENVELOPED = /^application\/(connect\+|grpc-web)/;

/**
 * The browser's `fetch`, which fails with UNAVAILABLE where a response was cut
 * within its headers. Over HTTP/1.1 without TLS Chromium takes the headers that
 * arrived for all there are, and no body for a whole one (`net/http/http_stream_parser.cc`,
 * for servers of old), so a cut answer of a unary call would be read as an empty message.
 * A server says that a body is empty with `Content-Length: 0`; any other empty body is a cut one.
 */
export async function wholeFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await globalThis.fetch(input, init);
  const { headers, status, statusText } = response;
  if (ENVELOPED.test(headers.get("content-type") ?? "")) return response;
  const body = await response.arrayBuffer();
  if (body.byteLength === 0 && headers.get("content-length") !== "0") {
    throw new ConnectError("the connection was cut within the headers of the response", Code.Unavailable);
  }
  return new Response(body, { status, statusText, headers });
}
