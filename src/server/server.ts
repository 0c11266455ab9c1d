import { createConnectRouter } from "@connectrpc/connect";
import { invalid } from "../core/errors.js";
import type { Log } from "../core/provider.js";
import { createAccessPolicy, isLoopback } from "./access.js";
import { createAdapter, type WebPages } from "./adapter.js";
import { randomErrorId } from "./errors.js";
import { DEFAULT_LIMITS, type ServerLimits } from "./limits.js";
import { listen, type TlsOptions } from "./listener.js";
import { createRpc, type RpcOptions } from "./rpc.js";

/** What a server is made of. */
export interface ServerOptions extends Pick<RpcOptions, "runtime" | "auth" | "services" | "sideDoor" | "name"> {
  /** The address to bind to. Default 127.0.0.1; another than loopback needs `auth` or `allowInsecure`. */
  readonly host?: string | undefined;
  /** Default 4310; 0 takes a free one. */
  readonly port?: number | undefined;
  /** Unset: plaintext. */
  readonly tls?: TlsOptions | undefined;
  /** Serves strangers without asking who they are. Default false. */
  readonly allowInsecure?: boolean | undefined;
  /** Origins of web pages that may call, such as `https://app.example`. Default none but the server's own. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Names that callers may use for the server beside IP addresses and `localhost`; `*` is any. */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  /** Default: silent. */
  readonly log?: Log | undefined;
  /** Serves what is not an RPC. */
  readonly pages?: WebPages | undefined;
  /** What DescribeRuntime says. Default `dev`. */
  readonly version?: string | undefined;
  /** Makes the IDs under which internal errors are logged. Default: random. */
  readonly nextErrorId?: (() => string) | undefined;
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:4310`. */
  readonly url: string;
  readonly port: number;
  /**
   * Begins to go away: health says NOT_SERVING, the runtime takes no new
   * executions and inputs, and streams end with RESUME_AFTER. Other calls are
   * still answered. Resolves when every stream has ended, or after `graceMs`
   * (default 5,000). Idempotent.
   */
  drain(graceMs?: number): Promise<void>;
  /** Takes no more calls, waits up to `graceMs` (default 1,000) for open ones, then ends them. Idempotent. */
  close(graceMs?: number): Promise<void>;
}

const DEFAULT_PORT = 4310;
const DRAIN_GRACE_MS = 5_000;
const CLOSE_GRACE_MS = 1_000;

/**
 * Serves a runtime on one port: gRPC, gRPC-Web and Connect over HTTP/1.1 and
 * HTTP/2, with health and reflection. Fails with VALIDATION_ERROR where the
 * options would serve strangers by mistake, and with an error that names the port and
 * has the system's code, such as EADDRINUSE, where the port is taken.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", port = DEFAULT_PORT, log = SILENT, nextErrorId = randomErrorId } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  refuseExposure(host, options);
  const access = createAccessPolicy({
    host,
    authenticated: options.auth !== undefined,
    allowedHosts: options.allowedHosts ?? [],
    corsOrigins: options.corsOrigins ?? [],
  });
  const rpc = createRpc({ ...options, version: options.version ?? "dev", limits, log, nextErrorId });
  const router = createConnectRouter(rpc.routerOptions);
  rpc.routes(router);
  const adapter = createAdapter({
    handlers: router.handlers,
    access,
    log,
    nextErrorId,
    pages: options.pages,
    arrival: { timeoutMs: limits.requestTimeoutMs, drain: rpc.drain },
    outlivesDrain: ({ service }) => rpc.outlivesDrain(service),
  });
  const listener = await listen({ host, port, tls: options.tls, limits, log, onRequest: adapter.serve });

  const drain = async (graceMs = DRAIN_GRACE_MS): Promise<void> => {
    rpc.health.stopServing();
    options.runtime.drain();
    rpc.drain.begin();
    await adapter.idle(graceMs, "ignored");
  };
  let closed: Promise<void> | undefined;
  const close = async (graceMs: number): Promise<void> => {
    rpc.health.stopServing();
    rpc.drain.begin();
    listener.drain();
    await adapter.idle(graceMs, "counted");
    await listener.close();
  };
  return {
    url: `${options.tls === undefined ? "http" : "https"}://${urlHost(host)}:${listener.port}`,
    port: listener.port,
    drain,
    close(graceMs = CLOSE_GRACE_MS) {
      closed ??= close(graceMs);
      return closed;
    },
  };
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

function refuseExposure(host: string, { auth, allowInsecure }: ServerOptions): void {
  if (isLoopback(host) || auth !== undefined || allowInsecure === true) return;
  throw invalid(
    "host",
    `${host} can be reached from other machines: turn authentication on (--auth tokens), or allow it (--allow-insecure)`,
  );
}

/** The address as a URL writes it. */
function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
