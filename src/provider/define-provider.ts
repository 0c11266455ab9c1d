import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ProviderManifest, ProviderManifestSchema, Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { Provider, ProviderContext, TurnOutcome } from "../core/provider.js";

/** The version of the protocol that this package speaks. */
export const PROTOCOL_VERSION = "2026-09-02";

/** How many executions an instance runs at once where nothing is said. */
const DEFAULT_CAPACITY = 16;

/** What a provider that dials in is made of. Everything is as in the port of an embedded one. */
export interface ProviderDefinition extends Pick<Provider, "capacity" | "start" | "cancel" | "dispose"> {
  /** `id` and `version` at least. `topologies` and `protocol_version` are set for you. */
  readonly manifest: MessageInitShape<typeof ProviderManifestSchema>;
  /** Runs one turn and returns how it ended; nothing is success with the text that was emitted. Throwing is PROVIDER_ERROR. */
  run(context: ProviderContext): Promise<TurnOutcome | undefined>;
}

/** A provider that is ready to connect. */
export interface RemoteProvider extends Pick<Provider, "start" | "cancel" | "dispose"> {
  readonly manifest: ProviderManifest;
  /** The most executions at a time, at least 1. Default 16. */
  readonly capacity: number;
  run(context: ProviderContext): Promise<TurnOutcome | undefined>;
}

/** Makes a provider that can {@link connectProvider}. Throws a RangeError where it has no ID, no version or no capacity. */
export function defineProvider(definition: ProviderDefinition): RemoteProvider {
  const { capacity = DEFAULT_CAPACITY, start, cancel, dispose } = definition;
  const manifest = create(ProviderManifestSchema, definition.manifest);
  if (manifest.id === "" || manifest.version === "") throw new RangeError("a provider has an id and a version");
  if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError("a provider's capacity is at least 1");
  manifest.topologies = [Topology.REMOTE];
  manifest.protocolVersion = PROTOCOL_VERSION;
  if (manifest.name === "") manifest.name = manifest.id;
  return {
    manifest,
    capacity,
    run: (context) => definition.run(context),
    ...(start === undefined ? {} : { start: start.bind(definition) }),
    ...(cancel === undefined ? {} : { cancel: cancel.bind(definition) }),
    ...(dispose === undefined ? {} : { dispose: dispose.bind(definition) }),
  };
}
