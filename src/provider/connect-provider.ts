import { randomUUID } from "node:crypto";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ErrorInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import { ProviderService } from "../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { type Clock, systemClock } from "../core/clock.js";
import type { Log } from "../core/provider.js";
import { TurnAbortedError } from "../core/turn-aborted.js";
import { type BackoffLimits, backoffMs } from "./backoff.js";
import { consoleLog } from "./console-log.js";
import type { RemoteProvider } from "./define-provider.js";
import { Held } from "./held.js";
import { type Dial, Session } from "./session.js";

/** How a provider connects. */
export interface ConnectOptions {
  /** The runtime's address, a URL such as `http://127.0.0.1:4310`. */
  readonly url: string;
  /** The token of the scope `providers:connect`, or what gives it before each try. Unset: none. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** PEM texts: the authority of the runtime's certificate, and a client's own where it is asked for. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Names this process: stable over reconnects, never used by another. Default: random. */
  readonly instanceId?: string;
  /** Default: 200 ms to 15 s. */
  readonly backoff?: BackoffLimits;
  /** Default: warnings and errors go to the console. */
  readonly log?: Log;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Default: Math.random. */
  readonly random?: () => number;
  /** Takes the place of `url`, `token` and `tls`. */
  readonly dial?: Dial;
}

/** A provider that is connected, or about to be again. */
export interface ProviderConnection {
  readonly instanceId: string;
  /** Resolves when the runtime took it for the first time; rejects where it refuses for good. */
  readonly registered: Promise<void>;
  /** Resolves once it is closed; rejects where the runtime refuses it for good. */
  readonly closed: Promise<void>;
  /** How many executions it has now. */
  readonly executions: number;
  /** Takes no more executions, waits for those that it has, then closes. Idempotent. */
  drain(): Promise<void>;
  /** Closes at once: what it has is lost to it. Idempotent. */
  close(): Promise<void>;
}

const BACKOFF: BackoffLimits = { minMs: 200, maxMs: 15_000 };
/** A stream that lived this long in milliseconds was a good one: the next wait is short again. */
const GOOD_STREAM_MS = 10_000;

/**
 * Connects a provider to a runtime and keeps it connected: through breaks of the
 * connection and restarts of the runtime nothing that it emits is lost or
 * doubled. Returns at once; see {@link ProviderConnection.registered}. Throws a
 * RangeError where `url` is no URL.
 */
export function connectProvider(provider: RemoteProvider, options: ConnectOptions): ProviderConnection {
  if (options.dial === undefined && !isHttpUrl(options.url)) {
    throw new RangeError("url: must be a URL, such as http://127.0.0.1:4310");
  }
  const connection = new Connection(provider, options);
  connection.run();
  return connection;
}

class Connection implements ProviderConnection {
  readonly instanceId: string;
  readonly #options: ConnectOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #held: Held;
  readonly #registered = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #session: Session | undefined;
  #isClosing = false;
  #isDraining = false;
  /** Whether the runtime said that it gives no more. */
  #isDrained = false;
  #wasRegistered = false;
  #stopWaiting: (() => void) | undefined;

  constructor(provider: RemoteProvider, options: ConnectOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? consoleLog;
    this.instanceId = options.instanceId ?? randomUUID();
    this.#registered.promise.catch(() => undefined);
    this.#closed.promise.catch(() => undefined);
    this.#held = new Held(provider, this.#log, this.#clock, {
      wake: () => this.#session?.wake(),
      emptied: () => this.#closeWhenDrained(),
    });
  }

  get registered(): Promise<void> {
    return this.#registered.promise;
  }
  get closed(): Promise<void> {
    return this.#closed.promise;
  }
  get executions(): number {
    return this.#held.size;
  }

  drain(): Promise<void> {
    this.#isDraining = true;
    this.#session?.drain();
    this.#closeWhenDrained();
    return this.closed;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#session?.close();
    this.#stopWaiting?.();
    await this.closed.catch(() => undefined);
  }

  run(): void {
    this.#keepConnected().then(
      () => {
        this.#registered.reject(new Error("the connection was closed"));
        this.#closed.resolve();
      },
      (error: unknown) => {
        this.#registered.reject(error);
        this.#closed.reject(error);
      },
    );
  }

  #closeWhenDrained(): void {
    const comesNoMore = this.#isDrained || !this.#wasRegistered;
    if (this.#isDraining && comesNoMore && this.#held.size === 0) void this.close();
  }

  async #keepConnected(): Promise<void> {
    try {
      for (let tries = 1; !this.#isClosing; tries++) {
        const beganMs = this.#clock.now();
        await this.#connectOnce();
        if (this.#clock.now() - beganMs > GOOD_STREAM_MS) tries = 1;
        if (!this.#isClosing) await this.#pause(tries);
      }
    } finally {
      this.#held.dropAll(new TurnAbortedError("fenced", "the provider closed its connection"));
    }
  }

  /** Lives through one stream; throws only where the runtime refuses for good. */
  async #connectOnce(): Promise<void> {
    const session = new Session({
      held: this.#held,
      instanceId: this.instanceId,
      clock: this.#clock,
      isDraining: () => this.#isDraining,
      onDrain: () => {
        this.#isDrained = true;
        this.#closeWhenDrained();
      },
      onRegistered: () => {
        this.#wasRegistered = true;
        this.#isDrained = false;
        this.#registered.resolve();
        this.#log.info({ instanceId: this.instanceId, providerId: this.#held.provider.manifest.id }, "registered");
      },
    });
    this.#session = session;
    try {
      await session.run(this.#options.dial ?? (await dialer(this.#options)));
    } catch (error) {
      if (this.#isClosing) return;
      if (isFinal(error, this.#wasRegistered)) throw error;
      const { instanceId } = this;
      const why = error instanceof Error ? error.message : String(error);
      this.#log.warn({ instanceId }, `the connection broke: ${why}; trying again`);
    } finally {
      this.#session = undefined;
      this.#held.disconnected();
    }
  }

  #pause(tries: number): Promise<void> {
    const { minMs, maxMs } = this.#options.backoff ?? BACKOFF;
    const limits = { minMs, maxMs: Math.min(maxMs, this.#held.longestPauseMs) };
    const delayMs = backoffMs(tries, limits, this.#options.random ?? Math.random);
    return new Promise((resolve) => {
      const disarm = this.#clock.after(delayMs, resolve);
      this.#stopWaiting = () => {
        disarm();
        resolve();
      };
    });
  }
}

function isHttpUrl(url: string): boolean {
  return /^https?:\/\/./.test(url) && URL.canParse(url);
}

async function dialer({ url, token, tls }: ConnectOptions): Promise<Dial> {
  const transport: Transport = createGrpcTransport({
    baseUrl: url,
    acceptCompression: [],
    readMaxBytes: MAX_MESSAGE_BYTES,
    ...(tls === undefined ? {} : { nodeOptions: { ...tls } }),
  });
  const bearer = typeof token === "function" ? await token() : token;
  const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const client = createClient(ProviderService, transport);
  return (requests, signal) => client.connect(requests, { signal, headers });
}

/** The largest message that a runtime sends, in bytes, and then some. */
const MAX_MESSAGE_BYTES = 16 << 20;

/** What no further try would mend. Credentials that were good once may be good again. */
function isFinal(error: unknown, wasRegistered: boolean): boolean {
  if (!(error instanceof ConnectError)) return false;
  const reason = error.findDetails(ErrorInfoSchema)[0]?.reason;
  if (reason === "FENCED") return true;
  if (wasRegistered) return false;
  return [
    Code.InvalidArgument,
    Code.FailedPrecondition,
    Code.Unauthenticated,
    Code.PermissionDenied,
    Code.Unimplemented,
  ].includes(error.code);
}
