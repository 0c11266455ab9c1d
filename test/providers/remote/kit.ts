import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterEach } from "vitest";
import type { StartExecutionRequestSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import {
  type ProviderManifest,
  ProviderManifestSchema,
  type SupportLevel,
  Topology,
} from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Clock } from "../../../src/core/clock.js";
import type { Log, Provider, ProviderContext, TurnOutcome } from "../../../src/core/provider.js";
import {
  type ConnectOptions,
  connectProvider,
  type ProviderConnection,
} from "../../../src/provider/connect-provider.js";
import { defineProvider, type ProviderDefinition } from "../../../src/provider/define-provider.js";
import type { KnownManifests } from "../../../src/providers/remote/known-manifests.js";
import {
  openRemoteProviders,
  type RemoteProviderService,
  type RemoteProvidersOptions,
} from "../../../src/providers/remote/remote-providers.js";
import { Kit, type KitOptions, manifest } from "../../core/kit.js";
import { until } from "../../support/processes.js";
import { Wire } from "./wire.js";

export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
export const GRACE_MS = 30_000;
export const HEARTBEAT_MS = 10_000;

/** Returns what a test's provider says of itself. */
export function remoteManifest(levels: Readonly<Record<string, SupportLevel>> = {}, version = "1.0.0") {
  const { capabilities } = manifest("remote", levels);
  return create(ProviderManifestSchema, {
    id: "remote",
    name: "remote",
    version,
    capabilities,
    topologies: [Topology.REMOTE],
    protocolVersion: "2026-09-02",
  });
}

/** A provider of one function. */
export function define(
  run: (context: ProviderContext) => Promise<TurnOutcome | undefined>,
  more: Partial<ProviderDefinition> = {},
): ProviderDefinition {
  return { manifest: remoteManifest(), run, ...more };
}

/** A runtime that providers dial in to, over a wire that a test cuts. */
export class RemoteKit {
  readonly kit: Kit;
  readonly #options: Partial<RemoteProvidersOptions>;
  readonly #connections: ProviderConnection[] = [];
  readonly #known = inMemory();
  #reopened = Promise.withResolvers<"reopened">();
  service!: RemoteProviderService;
  wire!: Wire;

  constructor(options: KitOptions = {}, remote: Partial<RemoteProvidersOptions> = {}) {
    this.kit = new Kit({ providers: [], ...options });
    this.#options = remote;
  }

  async open(): Promise<void> {
    await this.#serve((providers) => this.kit.open({ providers }));
    this.wire = new Wire(this.service);
  }

  /** What a kill of the runtime does: its streams break, and another one listens on what is stored. */
  async crash(): Promise<void> {
    this.wire.isDown = true;
    this.wire.cut();
    await this.#serve((providers) => this.kit.crash({ providers }));
    this.wire.serve(this.service);
    this.wire.isDown = false;
    this.#reopened.resolve("reopened");
    this.#reopened = Promise.withResolvers();
  }

  /** Calls, and calls again where a kill of the runtime met the call: then it is never answered. */
  async again<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      const answer = await Promise.race([call().then((value) => ({ value })), this.#reopened.promise]);
      if (answer !== "reopened") return answer.value;
    }
  }

  async #serve(open: (providers: readonly Provider[]) => Promise<void>): Promise<void> {
    const remote = await openRemoteProviders({
      clock: this.kit.clock,
      known: this.#known,
      graceMs: GRACE_MS,
      heartbeatMs: HEARTBEAT_MS,
      ...this.#options,
    });
    await open(remote.known([]));
    this.service = remote.serve(this.kit.runtime);
  }

  /** Connects a provider; its waits between tries are short, so that time need not be moved for them. */
  async connect(definition: ProviderDefinition, options: Partial<ConnectOptions> = {}): Promise<ProviderConnection> {
    const connection = this.connecting(definition, options);
    await connection.registered;
    return connection;
  }

  connecting(definition: ProviderDefinition, options: Partial<ConnectOptions> = {}): ProviderConnection {
    const connection = connectProvider(defineProvider(definition), {
      url: "",
      dial: this.wire.dial,
      clock: atOnce(this.kit.clock),
      random: () => 0,
      log: SILENT,
      ...options,
    });
    this.#connections.push(connection);
    return connection;
  }

  start(more: MessageInitShape<typeof StartExecutionRequestSchema> = {}): Promise<Execution> {
    return this.kit.start({ providerId: "remote", ...more });
  }

  /** Moves the time on until `holds`, at most `limitMs`. */
  async advanceUntil(what: string, holds: () => boolean, limitMs = 600_000): Promise<void> {
    const { fake } = this.kit;
    for (let passedMs = 0; !holds(); passedMs += 500) {
      if (passedMs > limitMs) throw new Error(`not within ${limitMs} ms: ${what}`);
      await fake.advance(500);
    }
  }

  /** Resolves when an instance has nothing any more. */
  async idle(connection: ProviderConnection): Promise<void> {
    await until("the instance has no execution", () => connection.executions === 0);
  }

  /** Resolves when the runtime has lost every stream or has one again. */
  async available(is: boolean): Promise<void> {
    await until(`available is ${is}`, () => this.kit.runtime.getProvider("remote").available === is);
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.kit.close();
  }
}

/** Outlives a kill of the runtime. */
function inMemory(): KnownManifests {
  let kept: readonly ProviderManifest[] = [];
  return {
    load: async () => kept,
    async save(manifests) {
      kept = manifests;
    },
  };
}

/** Lets what is due now run without that a test moves the time. */
function atOnce(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    after(delayMs, run) {
      if (delayMs > 0) return clock.after(delayMs, run);
      const immediate = setImmediate(run);
      return () => clearImmediate(immediate);
    },
  };
}

const open: RemoteKit[] = [];

/** Opens a kit that is closed, and whose every execution is checked, after the test. */
export async function openRemoteKit(
  options: KitOptions = {},
  remote: Partial<RemoteProvidersOptions> = {},
): Promise<RemoteKit> {
  const kit = new RemoteKit(options, remote);
  await kit.open();
  open.push(kit);
  return kit;
}

afterEach(async () => {
  for (const kit of open.splice(0)) await kit.close();
});
