import { type ProviderManifest, SupportLevel } from "../../gen/ts/harnessruntime/v1/provider_pb.js";

/** Levels from best to worst; a level satisfies every minimum that stands after it. */
const ORDER: readonly SupportLevel[] = [SupportLevel.NATIVE, SupportLevel.EMULATED, SupportLevel.DEGRADED];

/** Returns what a manifest says of a capability; UNSUPPORTED where it does not list it. */
export function levelOf(manifest: ProviderManifest, capability: string): SupportLevel {
  const level = Object.hasOwn(manifest.capabilities, capability) ? manifest.capabilities[capability] : undefined;
  return level === undefined || level === SupportLevel.UNSPECIFIED ? SupportLevel.UNSUPPORTED : level;
}

/** Returns whether a manifest has a capability at any level but UNSUPPORTED. */
export function supports(manifest: ProviderManifest, capability: string): boolean {
  return levelOf(manifest, capability) !== SupportLevel.UNSUPPORTED;
}

/** Returns whether `level` is at least `minimum`: NATIVE over EMULATED over DEGRADED. */
export function satisfies(level: SupportLevel, minimum: SupportLevel): boolean {
  const rank = ORDER.indexOf(level);
  const least = ORDER.indexOf(minimum);
  return rank >= 0 && (least < 0 || rank <= least);
}
