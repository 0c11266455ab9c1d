import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  AuthMode,
  type Config,
  type Server,
  type Store as StoreConfig,
  StoreKind,
  Synchronous,
  type Tls,
} from "../../../gen/ts/harnessruntime/config/v1/config_pb.js";
import { HarnessError } from "../../core/errors.js";
import { openRuntime } from "../../core/open-runtime.js";
import type { Log } from "../../core/provider.js";
import type { Runtime } from "../../core/runtime.js";
import type { Store } from "../../core/store.js";
import type { RemoteProviders } from "../../providers/remote/remote-providers.js";
import { openBuiltConsole } from "../../server/console-files.js";
import type { AnyService } from "../../server/rpc.js";
import { type RunningServer, startServer } from "../../server/server.js";
import { openTokens, type Tokens } from "../../server/tokens.js";
import { CliError, EXIT } from "../cli-error.js";
import type { ReadConfig } from "../config/read-config.js";
import { mustHave } from "../config/sections.js";
import { reportError } from "../report-error.js";
import { bannerText } from "../serve/banner.js";
import { countBuffersWithHeap } from "../serve/collector.js";
import { readConformance } from "../serve/conformance-folder.js";
import { makeDataFolder, REMOTE_PROVIDERS_FILE, TOKEN_FILE } from "../serve/data-folder.js";
import { drain, endWithoutStore, listenForStop, type Serving } from "../serve/ending.js";
import { createLog } from "../serve/log.js";
import { openProviders } from "../serve/open-providers.js";
import { type ConfigOptions, configOf } from "../server-options.js";

/**
 * Serves until SIGTERM or SIGINT, then drains, and ends the process itself: what
 * a driver's module leaves open must not keep it.
 */
export async function serve(options: ConfigOptions, version: string): Promise<never> {
  process.exit(await serveUntilStopped(options, version).catch(reportError));
}

/**
 * Resolves with the number to end with. Where the store is lost it ends what runs and fails with the reason, so that
 * whoever looks after the process starts it again.
 */
async function serveUntilStopped(options: ConfigOptions, version: string): Promise<number> {
  countBuffersWithHeap();
  const read = await configOf(options);
  const { config } = read;
  const log = createLog(mustHave(config.log));
  const serving = await start(read, version, log);
  const stop = listenForStop(() => process.exit(EXIT.failed));
  process.stdout.write(banner(serving, read, version));
  const end = await Promise.race([stop, serving.store.lost ?? stop]);
  if (typeof end !== "string") {
    log.error({ error: end.message }, "the store is lost: ending");
    await endWithoutStore(serving);
    throw new CliError(`the store is lost, start the server again: ${end.message}`);
  }
  log.info({ signal: end }, "draining");
  await drain(serving, { runsMs: durationMs(mustHave(mustHave(config.server).drainGrace)) });
  log.info({}, "drained");
  return EXIT.ok;
}

/** Opens everything; where a part fails, what is open already is closed again. */
async function start(read: ReadConfig, version: string, log: Log): Promise<Serving> {
  makeDataFolder(read.config.data, log);
  const store = await openStore(mustHave(read.config.store), read.config.data);
  return orClose(startOn(store, read, version, log), () => store.close());
}

async function startOn(store: Store, read: ReadConfig, version: string, log: Log): Promise<Serving> {
  const { config } = read;
  const remote = await openRemote(config, log);
  const runtime = await openRuntimeOf(read, store, remote, log);
  const listening = async (): Promise<RunningServer> => {
    showMeasured(runtime, config.data);
    const services = remote === undefined ? [] : [remote.serve(runtime)];
    return listen(config, runtime, services, version, log);
  };
  const server = await orClose(listening(), () => runtime.close(0));
  return { server, runtime, store };
}

/** What `harness conformance` measured before is shown with each provider. */
function showMeasured(runtime: Runtime, data: string): void {
  for (const { manifest } of runtime.listProviders()) {
    const result = readConformance(data, manifest?.id ?? "");
    if (result !== undefined) runtime.recordConformance(manifest?.id ?? "", result);
  }
}

async function orClose<T>(opening: Promise<T>, close: () => Promise<void>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    await close();
    throw error;
  }
}

async function openStore({ kind, synchronous }: StoreConfig, data: string): Promise<Store> {
  if (kind === StoreKind.MEMORY) return (await import("../../store/memory.js")).openMemoryStore();
  const { openSqliteStore } = await import("../../store/sqlite.js");
  const level = synchronous === Synchronous.NORMAL ? "normal" : "full";
  return await openSqliteStore({ dataDir: data, synchronous: level }).catch((error) => {
    const isInUse = error instanceof HarnessError && error.metadata["code"] === "IN_USE";
    throw isInUse ? new CliError(`${error.message} with --data, and another port with --port`) : error;
  });
}

/** What providers dial in to, where they may. */
async function openRemote({ providers, data }: Config, log: Log): Promise<RemoteProviders | undefined> {
  const { enabled, grace } = mustHave(mustHave(providers).remote);
  if (!enabled) return undefined;
  const { fileOfManifests } = await import("../../providers/remote/known-manifests.js");
  const { openRemoteProviders } = await import("../../providers/remote/remote-providers.js");
  return openRemoteProviders({
    known: fileOfManifests(join(data, REMOTE_PROVIDERS_FILE)),
    graceMs: durationMs(mustHave(grace)),
    log,
  });
}

async function openRuntimeOf(
  read: ReadConfig,
  store: Store,
  remote: RemoteProviders | undefined,
  log: Log,
): Promise<Runtime> {
  const own = await openProviders(read);
  const { data, runtime, store: kept, providers } = read.config;
  const { recordActionValues, heartbeatInterval, maxOpenExecutions } = mustHave(runtime);
  return openRuntime({
    store,
    log,
    providers: [...own, ...(remote?.known(own) ?? [])],
    dataDir: resolve(data),
    recordActionValues,
    retention: mustHave(kept).retention.map(({ keep, labels }) => ({ keepMs: durationMs(mustHave(keep)), labels })),
    limits: {
      maxOpenExecutions,
      heartbeatIntervalMs: durationMs(mustHave(heartbeatInterval)),
      remoteGraceMs: durationMs(mustHave(mustHave(mustHave(providers).remote).grace)),
    },
  });
}

async function listen(
  { server, auth, data }: Config,
  runtime: Runtime,
  services: readonly AnyService[],
  version: string,
  log: Log,
): Promise<RunningServer> {
  const settings = mustHave(server);
  try {
    return await startServer({
      runtime,
      version,
      log,
      services,
      host: settings.host,
      port: settings.port,
      allowInsecure: settings.allowInsecure,
      allowedHosts: settings.allowedHosts,
      corsOrigins: settings.allowedOrigins,
      tls: settings.tls && readTls(settings.tls),
      pages: openBuiltConsole(),
      auth: auth?.mode === AuthMode.TOKENS ? await openReadableTokens(data) : undefined,
    });
  } catch (error) {
    throw listenError(error, settings);
  }
}

/** A file of tokens that is damaged is said now, and not to the first caller. */
async function openReadableTokens(data: string): Promise<Tokens> {
  const tokens = openTokens(join(data, TOKEN_FILE));
  await tokens.list();
  return tokens;
}

function listenError(error: unknown, { host, port }: Server): unknown {
  if (!(error instanceof Error && "code" in error)) return error;
  if (error.code === "EADDRINUSE")
    return new CliError(`port ${port} is in use; name another with --port, or 0 for a free one`);
  if (error.code === "EADDRNOTAVAIL")
    return new CliError(`${host} is no address of this machine; name another with --host`);
  if (error.code === "EACCES")
    return new CliError(`port ${port} may not be used by this user; name another with --port`);
  return error;
}

function readTls({ certFile, keyFile }: Tls): { cert: Buffer; key: Buffer } {
  return { cert: readPem("server.tls.cert_file", certFile), key: readPem("server.tls.key_file", keyFile) };
}

function readPem(key: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CliError(`${key}: ${error instanceof Error ? error.message : error}`);
  }
}

function banner({ server, runtime, store }: Serving, { config, settings }: ReadConfig, version: string): string {
  const { data, auth } = config;
  const named = settings.some(({ path, where }) => path.join(".") === "data" && where !== "default");
  return bannerText({
    version,
    url: server.url,
    keeps: store.durable ? `${store.kind} in ${data}` : "kept in memory only",
    providers: runtime.listProviders(),
    authenticated: auth?.mode === AuthMode.TOKENS,
    data: named ? data : undefined,
  });
}
