import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { createClientFor, type HarnessClient, type HarnessClientOptions, toInterceptors } from "./client.js";

/** How a client in Node talks to the runtime. */
export interface NodeClientOptions extends HarnessClientOptions {
  /** The protocol. Default `grpc`: it passes proxies that know gRPC. `connect` is the cheapest for unary calls. */
  readonly protocol?: "grpc" | "connect" | "grpc-web";
  /** The version of HTTP. Default "2", without TLS by prior knowledge. "1.1" has no bidirectional streams and no gRPC. */
  readonly httpVersion?: "1.1" | "2";
  /** Use this transport instead; `bidi` says whether it has bidirectional streams. */
  readonly transport?: { readonly transport: Transport; readonly bidi: boolean };
}

/**
 * Makes a client for Node. It opens a connection with the first call; one that
 * is silent while calls are open is pinged every 20 s and given up after 15 s.
 */
export function createHarnessClient(options: NodeClientOptions): HarnessClient {
  if (options.transport !== undefined) {
    return createClientFor(options.transport.transport, options.transport.bidi, options);
  }
  return createClientFor(createTransport(options), options.httpVersion !== "1.1", options);
}

const PING_INTERVAL_MS = 20_000;

function createTransport(options: NodeClientOptions): Transport {
  const { baseUrl, protocol = "grpc", httpVersion = "2" } = options;
  const interceptors = toInterceptors(options);
  const keepalive = { pingIntervalMs: PING_INTERVAL_MS };
  if (protocol === "grpc") return createGrpcTransport({ baseUrl, interceptors, ...keepalive });
  const common = { baseUrl, interceptors, httpVersion, ...(httpVersion === "2" ? keepalive : {}) };
  return protocol === "connect" ? createConnectTransport(common) : createGrpcWebTransport(common);
}
