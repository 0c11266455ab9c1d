import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { ContextPolicy } from "./context-policy.js";
import { RunFailure } from "./errors.js";
import type { EffectiveGrants } from "./grants.js";
import { DEFAULT_ROLE, type ModelConfig } from "./model.js";
import type { RunContext } from "./run-context.js";
import type { ToolDefinition } from "./tool.js";

/**
 * The host's hand on each step of a run: which model answers, which tools it sees,
 * with which options, or that it is enough. It can only narrow what is granted.
 */
export interface StepController {
  readonly id: string;
  /**
   * Once a run, before its driver is called; its overrides hold for every step. `stop` ends the run there;
   * `activeToolIds`, which may name effects too, hold for effects as well, and for tools before the first step.
   */
  prepareRun?(ctx: RunContext): Overrides | Promise<Overrides>;
  /** Before each model call of the driver; its overrides go before those of the run. */
  prepareStep?(step: StepInfo, ctx: RunContext): Overrides | Promise<Overrides>;
}

type Overrides = StepOverrides | undefined;

/** What a controller knows of a step. */
export interface StepInfo {
  /** From 0, over the whole run. */
  readonly index: number;
  /** The granted tools that the call would show the model. */
  readonly tools: readonly ToolDefinition[];
}

/** What a controller changes; what is unset stays as the driver has it. */
export interface StepOverrides {
  readonly modelRole?: string;
  /** The tools that the model sees and may call until the next step. Must contain the required ones. */
  readonly activeToolIds?: readonly string[];
  /** Go over the driver's options, key by key; `role`, `signal` and tools cannot be set here. */
  readonly options?: Omit<ModelConfig, "role" | "signal">;
  /** In place of the run's context policy. */
  readonly contextPolicy?: ContextPolicy;
  /** Ends the run as `stopped` with POLICY_STOPPED. */
  readonly stop?: boolean | { readonly reason: string };
}

/** A step after every check. */
export interface StepPlan {
  readonly role: string;
  /** The tools that the model sees; unset for none, with what may be dispatched unchanged. */
  readonly activeToolIds: readonly string[] | undefined;
  readonly options: Omit<ModelConfig, "role" | "signal">;
  readonly contextPolicy: ContextPolicy | undefined;
}

/** What {@link planStep} decides from. */
export interface StepFacts {
  readonly grants: EffectiveGrants;
  /** The names of the tools that exist in this run. */
  readonly supplied: readonly string[];
  /** What the driver asked for. */
  readonly wanted: ModelConfig & { readonly tools?: readonly ToolDefinition[] };
  readonly run: Overrides;
  readonly step: Overrides;
}

/**
 * Decides a step from what the driver wants and the controller says. Throws a
 * {@link RunFailure} where the controller stops, selects what is not granted, names
 * a tool twice or drops a required one.
 */
export function planStep(facts: StepFacts): StepPlan {
  const { run, step, wanted, grants } = facts;
  const stop = step?.stop ?? run?.stop;
  if (stop) throw stopped(stop);
  const role = step?.modelRole ?? run?.modelRole ?? wanted.role ?? DEFAULT_ROLE;
  mustGrantRole(role, grants);
  const { role: _role, signal: _signal, tools: _tools, ...driverOptions } = wanted;
  return {
    role,
    activeToolIds: activeTools(facts),
    options: { ...driverOptions, ...run?.options, ...step?.options },
    contextPolicy: step?.contextPolicy ?? run?.contextPolicy,
  };
}

/**
 * Checks what a controller says for a whole run. Throws a {@link RunFailure} where it
 * stops it, selects what is not granted, names a tool twice or drops a required one.
 */
export function checkRunOverrides(run: Overrides, grants: EffectiveGrants): void {
  if (run?.stop) throw stopped(run.stop);
  if (run?.modelRole !== undefined) mustGrantRole(run.modelRole, grants);
  if (run?.activeToolIds !== undefined) checkActive(run.activeToolIds, new Set(grants.toolIds), grants);
}

/** Undefined where the call shows no tools and nobody overrides that: what may be dispatched stays as it is. */
function activeTools({ grants, supplied, wanted, run, step }: StepFacts): readonly string[] | undefined {
  const shown = wanted.tools?.map(({ name }) => name);
  const known = new Set([...supplied, ...(shown ?? [])]);
  // Of the run's choice a step has the tools: effects are not the model's to call.
  const override = step?.activeToolIds ?? run?.activeToolIds?.filter((name) => known.has(name));
  const active = override ?? shown?.filter((name) => grants.toolIds.includes(name));
  if (active !== undefined) checkActive(active, known, grants);
  return active;
}

function checkActive(active: readonly string[], known: ReadonlySet<string>, grants: EffectiveGrants): void {
  const doubled = active.find((name, index) => active.indexOf(name) !== index);
  if (doubled !== undefined) throw broken(`the tool ${JSON.stringify(doubled)} is active twice`);
  const foreign = active.find((name) => !(known.has(name) && grants.toolIds.includes(name)));
  if (foreign !== undefined) throw broken(`the tool ${JSON.stringify(foreign)} is selected and not granted`);
  const dropped = grants.requiredToolIds.find((name) => !active.includes(name));
  if (dropped !== undefined) throw broken(`the required tool ${JSON.stringify(dropped)} is not among the active tools`);
}

function mustGrantRole(role: string, grants: EffectiveGrants): void {
  if (!grants.modelRoles.includes(role)) throw broken(`the model role ${JSON.stringify(role)} is not granted`);
}

function stopped(stop: true | { readonly reason: string }): RunFailure {
  const reason = typeof stop === "object" ? stop.reason : "the step controller stopped it";
  return new RunFailure(FailureReason.POLICY_STOPPED, reason);
}

function broken(message: string): RunFailure {
  return new RunFailure(FailureReason.PROVIDER_ERROR, message);
}
