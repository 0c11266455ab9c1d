import { createRegistry } from "@bufbuild/protobuf";
import { createRouterTransport, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/ts/google/rpc/error_details_pb.js";
import { openRuntime } from "../../../src/core/open-runtime.js";
import type { Log } from "../../../src/core/provider.js";
import type { Runtime } from "../../../src/core/runtime.js";
import type { Store } from "../../../src/core/store.js";
import { scriptedProvider } from "../../../src/providers/scripted/scripted.js";
import { type Authenticator, bearerToken, SCOPES } from "../../../src/server/auth.js";
import { DEFAULT_LIMITS } from "../../../src/server/limits.js";
import { createRpc } from "../../../src/server/rpc.js";
import { startServer } from "../../../src/server/server.js";
import { createGrpcJsTransport } from "./grpc-js-transport.js";
import type { Target } from "./target.js";

type Header = Readonly<Record<string, string>>;

/** A way for a client to reach a server. */
export interface Wire {
  readonly name: string;
  readonly bidi: boolean;
  connect(baseUrl: string, header: Header): Transport;
}

/** JSON clients need the types of error details. */
const registry = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema);

export const WIRES: readonly Wire[] = [
  {
    name: "Connect over HTTP/1.1, JSON",
    bidi: false,
    connect: (baseUrl, header) =>
      createConnectTransport({
        baseUrl,
        httpVersion: "1.1",
        useBinaryFormat: false,
        useHttpGet: true,
        jsonOptions: { registry },
        interceptors: [sending(header)],
      }),
  },
  {
    name: "Connect over HTTP/2, binary",
    bidi: true,
    connect: (baseUrl, header) =>
      createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true, interceptors: [sending(header)] }),
  },
  {
    name: "gRPC, connect-node",
    bidi: true,
    connect: (baseUrl, header) => createGrpcTransport({ baseUrl, interceptors: [sending(header)] }),
  },
  {
    name: "gRPC, grpc-js",
    bidi: true,
    connect: (baseUrl, header) => createGrpcJsTransport(new URL(baseUrl).host, header),
  },
  {
    name: "gRPC-Web over HTTP/1.1",
    bidi: false,
    connect: (baseUrl, header) =>
      createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors: [sending(header)] }),
  },
];

/** Short, so that a case can wait for one. */
const HEARTBEAT_MS = 500;

/** Serves a runtime with the provider `scripted` on `store`, and reaches it over `wire`; undefined is in this process, without a port. */
export async function openLocalTarget(store: Store, wire: Wire | undefined): Promise<Target> {
  const limits = { heartbeatIntervalMs: HEARTBEAT_MS };
  const runtime = await openRuntime({ store, providers: [scriptedProvider()], limits });
  const { connect, close } = wire === undefined ? serveInProcess(runtime) : await servePort(runtime, wire);
  return {
    bidi: wire?.bidi ?? true,
    connect: (tenantId) => connect({ authorization: `Bearer ${tenantId}` }),
    async close() {
      await close();
      await runtime.close(0);
      await store.close();
    },
  };
}

/** A tenant's name is its password. */
const auth: Authenticator = {
  async authenticate(credentials) {
    const tenantId = bearerToken(credentials);
    return tenantId === undefined ? undefined : { tenantId, userId: "ann", scopes: new Set(SCOPES) };
  },
};

interface Served {
  connect(header: Header): Transport;
  close(): Promise<void>;
}

function serveInProcess(runtime: Runtime): Served {
  const rpc = createRpc({ runtime, auth, version: "test", limits: DEFAULT_LIMITS, log: FAILING, nextErrorId });
  return {
    connect: (header) =>
      createRouterTransport((router) => rpc.routes(router), {
        router: rpc.routerOptions,
        transport: { interceptors: [sending(header)] },
      }),
    close: async () => rpc.drain.begin(),
  };
}

async function servePort(runtime: Runtime, wire: Wire): Promise<Served> {
  const server = await startServer({ runtime, auth, port: 0, log: FAILING, nextErrorId });
  return {
    connect: (header) => wire.connect(server.url, header),
    close: () => server.close(0),
  };
}

/** An internal error in the suite is a bug; it names itself in the ID that the caller is shown. */
const FAILING: Log = {
  debug() {},
  info() {},
  warn() {},
  error(fields) {
    process.stderr.write(`internal error: ${JSON.stringify(fields)}\n`);
  },
};

function nextErrorId(): string {
  return "shown-on-standard-error";
}

function sending(header: Header): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries(header)) request.header.set(name, value);
    return next(request);
  };
}
