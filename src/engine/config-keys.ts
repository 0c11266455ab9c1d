import type { HarnessRuntimeConfig } from "./config.js";
import type { DriverProviderOptions, ServedDriver } from "./driver-provider.js";
import type { KeysOf } from "./known-keys.js";

const SHARED_KEYS: KeysOf<Omit<DriverProviderOptions, "providerId" | "capacity">> = {
  grants: true,
  budgets: true,
  tools: true,
  models: true,
  abilities: true,
  executionPolicy: true,
  approvalManager: true,
  controller: true,
  contextPolicy: true,
  completionPolicy: true,
  allowRevisionEffects: true,
  requirements: true,
  projectRoot: true,
  sessionStore: true,
  onConflict: true,
  resources: true,
  store: true,
  clock: true,
  telemetry: true,
  maxArtifactBytes: true,
  cleanupTimeoutMs: true,
};

/** What the constructor of a `HarnessRuntime` takes. */
export const CONFIG_KEYS: KeysOf<HarnessRuntimeConfig> = {
  driver: true,
  ...SHARED_KEYS,
  definition: true,
  eventCapacity: true,
  ids: true,
  log: true,
};

/** What `driverProvider` takes beside the driver. */
export const SERVED_KEYS: KeysOf<DriverProviderOptions> = { ...SHARED_KEYS, capacity: true, providerId: true };

/** What a module of `harness serve` may export beside a plain driver or a function. */
export const DRIVER_MODULE_KEYS: KeysOf<ServedDriver> = { driver: true, ...SHARED_KEYS, capacity: true, close: true };
