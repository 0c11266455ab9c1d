import { rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "./clock.js";
import { randomIds } from "./ids.js";
import { LocalRuntime } from "./local-runtime.js";
import type { Log } from "./provider.js";
import type { Runtime, RuntimeLimits, RuntimeOptions } from "./runtime.js";

const LIMITS: RuntimeLimits = {
  pollIntervalMs: 1000,
  heartbeatIntervalMs: 10_000,
  tailBytes: 256 * 1024,
  remoteGraceMs: 30_000,
  maxOpenExecutions: 10_000,
};

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Opens a runtime on a store: opens its providers, takes up what is unfinished
 * there (resumed where the provider can, else ended), and accepts commands. Fails
 * with STORE_UNAVAILABLE where the store cannot be read.
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const clock = options.clock ?? systemClock;
  const dataDir = options.dataDir ?? join(tmpdir(), `harness-runtime-${process.pid}`);
  if (!options.store.shared) await rm(join(dataDir, "scratch"), { recursive: true, force: true });
  const runtime = new LocalRuntime({
    store: options.store,
    clock,
    dataDir,
    durable: options.store.durable && options.dataDir !== undefined,
    ids: options.ids ?? randomIds(() => clock.now()),
    node: options.node ?? `${hostname()}:${process.pid}`,
    log: options.log ?? SILENT,
    recordValue: options.recordActionValues ?? false,
    limits: { ...LIMITS, ...options.limits },
    retention: options.retention ?? [],
  });
  await runtime.open(options.providers ?? []);
  return runtime;
}
