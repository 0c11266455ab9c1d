import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { createClientFor, type HarnessClient, type HarnessClientOptions, toInterceptors } from "./client.js";
import { wholeFetch } from "./whole-fetch.js";

/** How a client in a browser talks to the runtime. */
export interface BrowserClientOptions extends HarnessClientOptions {
  /** The protocol. Default `connect`. */
  readonly protocol?: "connect" | "grpc-web";
  /** Use this transport instead; `bidi` says whether it has bidirectional streams. */
  readonly transport?: { readonly transport: Transport; readonly bidi: boolean };
}

/** Makes a client for browsers, on `fetch`. */
export function createHarnessClient(options: BrowserClientOptions): HarnessClient {
  if (options.transport !== undefined) {
    return createClientFor(options.transport.transport, options.transport.bidi, options);
  }
  const { baseUrl } = options;
  const transportOptions = { baseUrl, interceptors: toInterceptors(options), useBinaryFormat: true, fetch: wholeFetch };
  const create = options.protocol === "grpc-web" ? createGrpcWebTransport : createConnectTransport;
  return createClientFor(create(transportOptions), false, options);
}
