import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type ConnectRequest,
  type ConnectResponse,
  ProviderService,
} from "../../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { ProviderManifest } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Clock, systemClock } from "../../core/clock.js";
import { HarnessError, invalid, isHarnessError } from "../../core/errors.js";
import type { Log, Provider } from "../../core/provider.js";
import type { Runtime } from "../../core/runtime.js";
import { Connection, MAX_RESPONSE_BYTES } from "./connection.js";
import type { Instance } from "./instance.js";
import type { KnownManifests } from "./known-manifests.js";
import { checkRegister, PROTOCOL_VERSION, versionOf } from "./registration.js";
import { RemoteProvider } from "./remote-provider.js";
import { fenced } from "./status.js";

/** How providers that dial in are taken. */
export interface RemoteProvidersOptions {
  /** Where those are kept that ever dialled in. Default: nowhere, so that a restart forgets them. */
  readonly known?: KnownManifests;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Default: silent. */
  readonly log?: Log;
  /** How long a broken stream may take to come back, in milliseconds. Default 30,000, as the runtime's `remoteGraceMs`. */
  readonly graceMs?: number;
  /** How often each side shows that it lives, in milliseconds; after three times that a silent one is gone. Default 10,000. */
  readonly heartbeatMs?: number;
  /** How long an instance may take to confirm that cancelled work has stopped, in milliseconds. Default 10,000. */
  readonly cancelTimeoutMs?: number;
  /** How long a new stream may take to register, in milliseconds. Default 10,000. */
  readonly registerTimeoutMs?: number;
  /** Refuses, by throwing, a caller that may connect but not as this provider. */
  readonly authorize?: (manifest: ProviderManifest, context: HandlerContext) => Promise<void> | void;
}

/** The largest message of an instance, in bytes. */
const MAX_REQUEST_BYTES = 4 << 20;
const MAX_PROVIDERS = 1_000;
const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** The providers that dial in to one runtime. */
export interface RemoteProviders {
  /**
   * Those that dialled in before, but for the IDs that `own` ones have: a runtime
   * is opened with them, so that it knows them before they come back.
   */
  known(own: readonly Provider[]): readonly Provider[];
  /** Returns the service by which providers join the runtime, once it is open. */
  serve(runtime: Pick<Runtime, "addProvider" | "listProviders">): RemoteProviderService;
}

/** `ProviderService`, as a server takes it on beside its own services. */
export interface RemoteProviderService {
  readonly service: typeof ProviderService;
  readonly implementation: ServiceImpl<typeof ProviderService>;
  /** What callers need: the scope `providers:connect`. */
  readonly scope: "providers:connect";
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
  readonly outlivesDrain: true;
}

/** Opens what providers dial in to. Rejects where the known ones cannot be read. */
export async function openRemoteProviders(options: RemoteProvidersOptions = {}): Promise<RemoteProviders> {
  const hub = new Hub(options, (await options.known?.load()) ?? []);
  return {
    known: (own) => hub.known(own),
    serve(runtime) {
      hub.join(runtime);
      return {
        service: ProviderService,
        implementation: { connect: (requests, context) => hub.connect(requests, context) },
        scope: "providers:connect",
        maxRequestBytes: MAX_REQUEST_BYTES,
        maxResponseBytes: MAX_RESPONSE_BYTES,
        outlivesDrain: true,
      };
    },
  };
}

/** Which instance a stream is, once it said so. */
interface Known {
  readonly provider: RemoteProvider;
  readonly instance: Instance;
}

class Hub {
  readonly #options: RemoteProvidersOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #heartbeatMs: number;
  readonly #graceMs: number;
  readonly #providers = new Map<string, RemoteProvider>();
  /** When each provider has joined the runtime. */
  readonly #joined = new Map<string, Promise<void>>();
  #runtime: Pick<Runtime, "addProvider" | "listProviders"> | undefined;

  constructor(options: RemoteProvidersOptions, known: readonly ProviderManifest[]) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? SILENT;
    this.#heartbeatMs = options.heartbeatMs ?? 10_000;
    this.#graceMs = options.graceMs ?? 30_000;
    for (const manifest of known) this.#add(manifest, Promise.resolve());
  }

  known(own: readonly Provider[]): readonly Provider[] {
    for (const { manifest } of own) this.#providers.delete(manifest.id);
    return [...this.#providers.values()];
  }

  join(runtime: Pick<Runtime, "addProvider" | "listProviders">): void {
    this.#runtime = runtime;
  }

  async *connect(requests: AsyncIterable<ConnectRequest>, context: HandlerContext): AsyncGenerator<ConnectResponse> {
    let known: Known | undefined;
    const connection = new Connection({
      clock: this.#clock,
      heartbeatMs: this.#heartbeatMs,
      onClose: () => known?.provider.disconnect(known.instance, connection),
    });
    const onAbort = (): void => this.#aborted(connection, context.signal);
    context.signal.addEventListener("abort", onAbort);
    void this.#read(requests, connection, context, (found) => {
      known = found;
    });
    try {
      yield* connection.responses();
    } finally {
      context.signal.removeEventListener("abort", onAbort);
      connection.close();
    }
  }

  /** The server goes away: the instance is told, and keeps its stream for now. A caller that is gone is gone. */
  #aborted(connection: Connection, { reason }: AbortSignal): void {
    if (!isHarnessError(reason, ErrorReason.SERVER_DRAINING)) connection.close();
    else connection.send({ case: "drain", value: { grace: durationFromMs(this.#graceMs) } });
  }

  /** Reads a stream to its end. Never rejects: what is wrong with it ends it. */
  async #read(
    requests: AsyncIterable<ConnectRequest>,
    connection: Connection,
    context: HandlerContext,
    onKnown: (known: Known) => void,
  ): Promise<void> {
    const { registerTimeoutMs = 10_000 } = this.#options;
    const late = invalid("register", `it must come within ${registerTimeoutMs} ms`);
    const disarm = this.#clock.after(registerTimeoutMs, () => connection.close(late));
    try {
      const iterator = requests[Symbol.asyncIterator]();
      const first = await iterator.next();
      const known = await this.#register(first.done ? undefined : first.value, connection, context, onKnown);
      disarm();
      for (let next = await iterator.next(); !next.done && connection.isOpen; next = await iterator.next()) {
        await this.#receive(next.value, known, connection);
      }
      connection.close();
    } catch (error) {
      connection.close(error);
    } finally {
      disarm();
    }
  }

  async #register(
    request: ConnectRequest | undefined,
    connection: Connection,
    context: HandlerContext,
    onKnown: (known: Known) => void,
  ): Promise<Known> {
    if (request?.message.case !== "register") throw invalid("message", "the first one is `register`");
    const register = request.message.value;
    const manifest = checkRegister(register);
    await this.#options.authorize?.(manifest, context);
    const provider = await this.#provider(manifest);
    if (!connection.isOpen) throw new Error("the stream ended while it registered");
    const instance = provider.connect(connection, register, manifest, versionOf(manifest));
    onKnown({ provider, instance });
    connection.send({ case: "registered", value: provider.registered(instance, register) });
    for (const attempt of instance.attempts.values()) attempt.resend();
    this.#log.info(
      { providerId: manifest.id, instanceId: instance.id, capacity: instance.capacity },
      "instance registered",
    );
    return { provider, instance };
  }

  /** Returns the provider that an instance belongs to; the first instance makes it join the runtime. */
  async #provider(manifest: ProviderManifest): Promise<RemoteProvider> {
    const { id } = manifest;
    let provider = this.#providers.get(id);
    if (provider === undefined) {
      const joined = Promise.withResolvers<void>();
      const runtime = this.#mustBeFree(id);
      provider = this.#add(manifest, joined.promise);
      joined.resolve(runtime.addProvider(provider));
    }
    await this.#joined.get(id);
    return provider;
  }

  #add(manifest: ProviderManifest, joined: Promise<void>): RemoteProvider {
    const { cancelTimeoutMs = 10_000 } = this.#options;
    const provider = new RemoteProvider(manifest, {
      clock: this.#clock,
      graceMs: this.#graceMs,
      heartbeatMs: this.#heartbeatMs,
      cancelTimeoutMs,
      protocolVersion: PROTOCOL_VERSION,
      onManifest: () => this.#keep(),
    });
    this.#providers.set(manifest.id, provider);
    this.#joined.set(manifest.id, joined);
    return provider;
  }

  /** A manifest is new: keeps all there are. */
  #keep(): void {
    const manifests = Array.from(this.#providers.values(), ({ manifest }) => manifest);
    this.#options.known?.save(manifests).catch((error: unknown) => {
      this.#log.warn({ error: String(error) }, "the providers that dialled in were not kept");
    });
  }

  /** Fails where the runtime has a provider of that ID itself; returns the runtime. */
  #mustBeFree(id: string): Pick<Runtime, "addProvider"> {
    const runtime = this.#runtime;
    if (runtime === undefined) throw new TypeError("no runtime is open");
    const taken = runtime.listProviders().some(({ manifest }) => manifest?.id === id);
    if (taken)
      throw invalid("manifest.id", `the runtime has a provider ${JSON.stringify(id)} of its own: choose another id`);
    if (this.#providers.size < MAX_PROVIDERS) return runtime;
    throw new HarnessError(ErrorReason.QUOTA_EXCEEDED, `there are ${MAX_PROVIDERS} providers already`, {
      max_providers: String(MAX_PROVIDERS),
    });
  }

  async #receive({ message }: ConnectRequest, { provider, instance }: Known, connection: Connection): Promise<void> {
    connection.heard();
    switch (message.case) {
      case "heartbeat":
        break;
      case "drain":
        provider.drain(instance);
        connection.send({ case: "drain", value: {} });
        break;
      case "register":
      case undefined:
        throw invalid("message", "`register` comes first and once, and every message has one of the kinds");
      default: {
        const { executionId, attempt, emitId } = message.value;
        const held = instance.attempts.get(executionId);
        if (held?.attempt === attempt) held.receive(message);
        else connection.ack(executionId, attempt, emitId, fenced(executionId, attempt));
      }
    }
    const room = instance.flow.room();
    if (room === undefined) return;
    connection.deaf();
    await room;
    connection.heard();
  }
}
