import { isAbsolute } from "node:path";
import { type Clock, systemClock } from "../core/clock.js";
import { invalid } from "../core/errors.js";
import type { Ids } from "../core/ids.js";
import type { Log } from "../core/provider.js";
import type { Store } from "../core/store.js";
import type { HarnessAbility } from "./ability.js";
import type { ApprovalManager } from "./approvals.js";
import { ArtifactValues } from "./artifact-values.js";
import { checkBudgets, type HarnessBudgets, narrowBudgets } from "./budgets.js";
import type { CompletionPolicy } from "./completion.js";
import { CONFIG_KEYS } from "./config-keys.js";
import type { ContextPolicy } from "./context-policy.js";
import type { StepController } from "./controller.js";
import { type HarnessDefinition, type ResolvedDefinition, resolveDefinition } from "./definition.js";
import type { ExecutionDriver } from "./driver.js";
import { checkDriver } from "./driver-check.js";
import type { EventBus } from "./event-bus.js";
import { checkGrants, type EffectiveGrants, type HarnessGrants } from "./grants.js";
import { refuseUnknownKeys } from "./known-keys.js";
import { checkMembers, mustBind } from "./member-config.js";
import type { ModelRoleBinding } from "./model.js";
import { ALLOW_GRANTED, type ExecutionPolicy } from "./policy.js";
import { createResourcePool, type HarnessResourcePool } from "./resource.js";
import { createMemorySessions, type HarnessSessionStore } from "./session-store.js";
import { bindMethods, snapshotBinding, snapshotDriver, snapshotTool } from "./snapshot.js";
import type { ToolDef } from "./tool.js";

/** What a runtime is made of. Everything is copied at construction: later changes of the caller's objects change nothing. */
export interface HarnessRuntimeConfig extends EngineOptions {
  /**
   * Optional observer bus for the runtime and its direct model/controller calls.
   * Keep Agent instrumentation on its own bus to avoid counting the same call twice.
   */
  telemetry?: EventBus;
  /** Required, unless the definition names one. */
  driver?: ExecutionDriver;
  definition?: HarnessDefinition;
  /** Absolute. Default: the working directory. */
  projectRoot?: string;
  /** What the host grants of a definition's requirements. */
  requirements?: readonly string[];
  tools?: readonly ToolDef[];
  models?: Readonly<Record<string, ModelRoleBinding>>;
  grants: HarnessGrants;
  budgets?: HarnessBudgets;
  /** Default: whatever is granted is allowed. */
  executionPolicy?: ExecutionPolicy;
  approvalManager?: ApprovalManager;
  controller?: StepController;
  contextPolicy?: ContextPolicy;
  completionPolicy?: CompletionPolicy;
  /** Explicit opt-in to new tool effects in completion revisions. */
  allowRevisionEffects?: boolean;
  /**
   * Default: in memory, where the last 10,000 sessions are kept, at most 256 MiB. A driver that is served by a
   * runtime whose data outlives the process has them in files beside it.
   */
  sessionStore?: HarnessSessionStore;
  resources?: HarnessResourcePool;
  /** The most events of one run that its viewers can still see, from 2. Unset keeps them all. */
  eventCapacity?: number;
}

/** What an engine may be given besides what the runtime model names. */
export interface EngineOptions {
  /** Where executions and their logs are kept. Owned by the caller. Default: in memory, owned by the runtime. */
  store?: Store;
  /** Default: the machine's clock. */
  clock?: Clock;
  /** Default: random. */
  ids?: Ids;
  /** Default: silent. */
  log?: Log;
  /** What a start does while another run has its session. Default `refuse`; where a driver is served, `queue`. */
  onConflict?: "refuse" | "queue";
  /** Tools, prompts, context sources and middleware as pieces, bound in order for each run. */
  abilities?: readonly HarnessAbility[];
  /**
   * How much of the values of `putArtifact` and of long texts is kept in all, in bytes. Beyond it the ones
   * that were not asked for longest are forgotten; the last one is kept whatever its size. Default 256 MiB.
   */
  maxArtifactBytes?: number;
  /** How long the end of a run waits for its driver and all owned work, in milliseconds. Default 5,000. */
  cleanupTimeoutMs?: number;
}

/** A configuration after every check: a copy that nobody else can change. */
export interface EngineConfig {
  readonly driver: ExecutionDriver;
  readonly definition: ResolvedDefinition | undefined;
  readonly projectRoot: string;
  readonly tools: readonly ToolDef[];
  readonly models: Readonly<Record<string, ModelRoleBinding>>;
  readonly grants: EffectiveGrants;
  readonly budgets: Readonly<HarnessBudgets>;
  readonly executionPolicy: ExecutionPolicy;
  readonly approvalManager: ApprovalManager | undefined;
  readonly controller: StepController | undefined;
  readonly contextPolicy: ContextPolicy | undefined;
  readonly completionPolicy: CompletionPolicy | undefined;
  readonly allowRevisionEffects: boolean;
  readonly abilities: readonly HarnessAbility[];
  readonly telemetry: EventBus | undefined;
  readonly sessions: HarnessSessionStore;
  /** Whether the host chose where sessions are kept. */
  readonly ownSessions: boolean;
  /** Whether runs that another run began are sessions that nobody goes on with: nothing of them is kept. */
  readonly dropsChildren: boolean;
  readonly resources: HarnessResourcePool;
  readonly artifacts: ArtifactValues;
  readonly clock: Clock;
  readonly onConflict: "refuse" | "queue";
  readonly cleanupTimeoutMs: number;
  /** Whether runs are kept where they survive the process. */
  readonly durableStore: boolean;
  /** Whether clients can reach the run's actions: then an approval needs no manager. */
  readonly served: boolean;
}

/**
 * Checks a configuration and returns a copy of it. Fails with VALIDATION_ERROR or
 * {@link HarnessUnsupportedError}, before anything runs.
 */
export function parseConfig(config: HarnessRuntimeConfig, served: boolean): EngineConfig {
  refuseUnknownKeys("", config, CONFIG_KEYS);
  const definition = toDefinition(config);
  const driver = config.driver ?? definition?.driver;
  if (driver === undefined) throw invalid("driver", "is required; give a driver, or a definition that names one");
  const grants = checkGrants(config.grants);
  const budgets = toBudgets(config, definition);
  const models = toModels(config, definition);
  mustBind(grants, models);
  const governed = isGoverned(config, grants, budgets, definition);
  const durableStore = config.store?.durable ?? served;
  checkDriver(driver, { governed, durableStore });
  const parsed: EngineConfig = Object.freeze({
    ...toPolicies(config, definition),
    ...toServices(config, served),
    driver: snapshotDriver(driver),
    definition,
    projectRoot: checkProjectRoot(config.projectRoot ?? process.cwd()),
    tools: uniqueTools([...(definition?.tools ?? []), ...(config.tools ?? [])]).map(snapshotTool),
    models,
    grants,
    budgets,
    durableStore,
  });
  checkMembers(parsed);
  return parsed;
}

function toDefinition({ definition, requirements }: HarnessRuntimeConfig): ResolvedDefinition | undefined {
  return definition === undefined ? undefined : resolveDefinition(definition, requirements ?? []);
}

function toBudgets(config: HarnessRuntimeConfig, definition: ResolvedDefinition | undefined): Readonly<HarnessBudgets> {
  const { maxSteps: _, ...limits } = definition?.limits ?? {};
  return narrowBudgets(checkBudgets(config.budgets ?? {}), checkBudgets(limits));
}

function toModels(config: HarnessRuntimeConfig, definition: ResolvedDefinition | undefined): EngineConfig["models"] {
  const bindings = Object.entries({ ...definition?.models, ...config.models });
  return Object.fromEntries(bindings.map(([role, binding]) => [role, snapshotBinding(role, binding)]));
}

type Policies = Pick<
  EngineConfig,
  "executionPolicy" | "controller" | "contextPolicy" | "completionPolicy" | "allowRevisionEffects" | "abilities"
>;

function toPolicies(config: HarnessRuntimeConfig, definition: ResolvedDefinition | undefined): Policies {
  const abilities = [...(definition?.abilities ?? []), ...(config.abilities ?? [])];
  return {
    executionPolicy: bindMethods(config.executionPolicy ?? ALLOW_GRANTED),
    controller: bindMethods(config.controller ?? definition?.controller),
    contextPolicy: bindMethods(config.contextPolicy ?? definition?.contextPolicy),
    completionPolicy: bindMethods(config.completionPolicy ?? definition?.completionPolicy),
    allowRevisionEffects: config.allowRevisionEffects ?? false,
    abilities: abilities.map((ability) => bindMethods(ability)),
  };
}

type Services = Pick<
  EngineConfig,
  | "approvalManager"
  | "telemetry"
  | "sessions"
  | "ownSessions"
  | "dropsChildren"
  | "resources"
  | "artifacts"
  | "clock"
  | "onConflict"
  | "cleanupTimeoutMs"
  | "served"
>;

function toServices(config: HarnessRuntimeConfig, served: boolean): Services {
  const onConflict = config.onConflict ?? (served ? "queue" : "refuse");
  return {
    approvalManager: config.approvalManager,
    telemetry: config.telemetry,
    sessions: config.sessionStore ?? createMemorySessions(),
    ownSessions: config.sessionStore !== undefined,
    dropsChildren: false,
    resources: config.resources ?? createResourcePool(),
    artifacts: new ArtifactValues(checkPositive("maxArtifactBytes", config.maxArtifactBytes ?? 256 * 1024 * 1024)),
    clock: config.clock ?? systemClock,
    onConflict,
    cleanupTimeoutMs: checkPositive("cleanupTimeoutMs", config.cleanupTimeoutMs ?? 5_000),
    served,
  };
}

/** Whether the host asks for anything that only the services can enforce. */
function isGoverned(
  config: HarnessRuntimeConfig,
  grants: EffectiveGrants,
  budgets: Readonly<HarnessBudgets>,
  definition: ResolvedDefinition | undefined,
): boolean {
  const { approvalManager } = config;
  const policies = [
    ...[config.executionPolicy, config.controller, config.contextPolicy],
    ...[definition?.controller, definition?.contextPolicy],
    approvalManager?.policy === "none" ? undefined : approvalManager,
  ];
  return (
    grants.toolIds.length > 0 ||
    grants.modelRoles.length > 0 ||
    Object.keys(budgets).length > 0 ||
    policies.some((policy) => policy !== undefined)
  );
}

function uniqueTools(tools: readonly ToolDef[]): readonly ToolDef[] {
  for (const [index, { name }] of tools.entries()) {
    if (name === "") throw invalid(`tools[${index}].name`, "must not be empty");
    if (tools.findIndex((tool) => tool.name === name) !== index) {
      throw invalid(`tools[${index}].name`, `two tools have the name ${JSON.stringify(name)}`);
    }
  }
  return tools;
}

function checkProjectRoot(path: string): string {
  if (!isAbsolute(path)) throw invalid("projectRoot", `${JSON.stringify(path)} is not an absolute path`);
  return path;
}

function checkPositive(field: string, value: number): number {
  if (!Number.isFinite(value) || value <= 0) throw invalid(field, `${value} is not a positive number`);
  return value;
}
