import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import type { CleanupReport, Provider, ProviderContext, ProviderHost, TurnOutcome } from "../core/provider.js";
import { abortCause } from "../core/turn-aborted.js";
import { keepLongText } from "./announce-artifacts.js";
import { attempt } from "./bound.js";
import type { UsedBefore } from "./budgets.js";
import { memberProviderId } from "./children.js";
import { type EngineConfig, type HarnessRuntimeConfig, parseConfig } from "./config.js";
import { SERVED_KEYS } from "./config-keys.js";
import { fromUsage } from "./contract-values.js";
import type { ExecutionDriver } from "./driver.js";
import { isGovernable } from "./driver-check.js";
import { toManifest, toProviderId } from "./driver-manifest.js";
import type { EngineHost, LocalRunLink } from "./engine-host.js";
import { EngineRun } from "./engine-run.js";
import { openFileSessions } from "./file-sessions.js";
import { refuseUnknownKeys } from "./known-keys.js";
import { memberConfig } from "./member-config.js";
import { toRunIdentity } from "./run-identity.js";
import { runTurn } from "./run-turn.js";

/** How a driver is served: what an embedded runtime takes, but for the driver itself and the viewers' bounds. */
export type DriverProviderOptions = Omit<
  HarnessRuntimeConfig,
  "driver" | "definition" | "eventCapacity" | "ids" | "log"
> & {
  /** The provider's id. Default: the driver's. */
  readonly providerId?: string;
  /** The most executions that run at once. Default 64. */
  readonly capacity?: number;
};

/** A driver and how it is served; the id of the provider is the configuration's. */
export type ServedDriver = Omit<DriverProviderOptions, "providerId"> & {
  readonly driver: ExecutionDriver;
  /** Called once, when the runtime closes and no execution of the driver's is left. */
  close?(): Promise<void> | void;
};

/**
 * The default export of a module that `harness serve` loads (`providers.driver`):
 * a driver, which is granted nothing; a driver and how it is served; or a function
 * that makes either of the `config` that stands beside the module's name.
 */
export type DriverModule =
  | ExecutionDriver
  | ServedDriver
  | ((config: JsonObject) => ExecutionDriver | ServedDriver | Promise<ExecutionDriver | ServedDriver>);

/**
 * Makes a provider of a driver, unchanged, so that any client can run it over
 * gRPC. Approvals need no manager: clients answer them. Fails as the construction
 * of an embedded runtime does.
 */
export function driverProvider(driver: ExecutionDriver, options: DriverProviderOptions): Provider {
  refuseUnknownKeys("", options ?? {}, SERVED_KEYS);
  const { providerId, capacity, ...config } = { ...options };
  return engineProvider(parseConfig({ ...config, driver }, true), {
    id: providerId ?? toProviderId(driver.id),
    ...(capacity === undefined ? {} : { capacity }),
    local: () => undefined,
  });
}

/** How the engine's provider joins a runtime. */
export interface EngineProviderOptions {
  readonly id: string;
  readonly capacity?: number;
  readonly local: (runId: string) => LocalRunLink | undefined;
}

/** Time beyond the host's own bounds before the core gives up on a cleanup, in milliseconds. */
const MARGIN_MS = 1_000;

/** The provider behind both the embedded runtime and {@link driverProvider}. */
export function engineProvider(given: EngineConfig, options: EngineProviderOptions): Provider {
  let config = given;
  const runs = new Map<string, EngineRun>();
  let joined: ProviderHost | undefined;
  const host: EngineHost = {
    get config() {
      return config;
    },
    local: options.local,
    runtime: () => {
      if (joined === undefined) throw new Error("the driver's provider has joined no runtime");
      return joined.runtime;
    },
  };

  const runOf = (context: ProviderContext): EngineRun => {
    const { id } = context.execution;
    let run = runs.get(id);
    if (run === undefined) {
      run = new EngineRun(host, toRunIdentity(context.execution, config, options.local(id)), usedBefore(context));
      runs.set(id, run);
    }
    return run;
  };

  return {
    manifest: toManifest(config, options.id),
    // Of a driver that goes its own ways only the log tells what it used.
    enforcesBudgets: isGovernable(config.driver),
    cancelTimeoutMs: 3 * config.cleanupTimeoutMs + MARGIN_MS,
    ...(options.capacity === undefined ? {} : { capacity: options.capacity }),
    open: async (providerHost) => {
      joined = providerHost;
      config = await withDurableSessions(given, providerHost);
      for (const [name, member] of Object.entries(config.driver.members ?? {})) {
        const id = memberProviderId(options.id, name);
        await providerHost.runtime.addProvider(
          engineProvider(memberConfig(config, member), { id, local: () => undefined }),
        );
      }
    },
    checkStart: (execution) => {
      toRunIdentity(execution, config, options.local(execution.id));
    },
    run: async (context): Promise<TurnOutcome> => {
      const run = runOf(context);
      const outcome = await Promise.race([runTurn(run, context), run.abandoned]);
      run.status = outcome.status;
      return outcome;
    },
    cancel: async (context, _reason, why): Promise<CleanupReport | undefined> => {
      const run = runs.get(context.execution.id);
      if (run === undefined) return undefined;
      if (run.status !== "failed") run.status = "cancelled";
      const diagnostics = [...(await run.close(goesOn(config.driver, context.signal)))];
      if (why === "failed") {
        const keeping = () => keepLongText(run, context, run.turnText.join(""));
        diagnostics.push(...(await attempt("the text was not kept whole", keeping)));
      }
      return diagnostics.length === 0 ? undefined : { error: diagnostics.join("; ") };
    },
    dispose: async (context) => {
      const { id } = context.execution;
      const run = runs.get(id);
      if (run === undefined) return;
      runs.delete(id);
      const diagnostics = await run.close(true);
      run.spans.runComplete(run.status, run.usage);
      options.local(id)?.settled(diagnostics);
    },
  };
}

/** What the attempts before this one used: a budget is the run's, not an attempt's. */
function usedBefore({ execution: { usage } }: ProviderContext): UsedBefore {
  return { usage: fromUsage(usage), modelCalls: usage?.modelCalls ?? 0, toolCalls: usage?.toolCalls ?? 0 };
}

/** Where a served driver's conversations outlive the process, so do their sessions. */
async function withDurableSessions(config: EngineConfig, { durable, dataDir }: ProviderHost): Promise<EngineConfig> {
  if (!config.served || config.ownSessions || !durable) return config;
  return { ...config, sessions: await openFileSessions(join(dataDir, "sessions"), config.clock) };
}

/** Whether the next attempt does the turn again: then its session stays as the last turn left it. */
function goesOn({ resume }: ExecutionDriver, signal: AbortSignal): boolean {
  const cause = abortCause(signal);
  return resume !== undefined && (cause === "released" || cause === "fenced");
}
