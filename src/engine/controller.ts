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
  /** Once a run, before the first step; its overrides hold for every step. */
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
  if (stop) throw stopped(typeof stop === "object" ? stop.reason : "the step controller stopped it");
  const role = step?.modelRole ?? run?.modelRole ?? wanted.role ?? DEFAULT_ROLE;
  if (!grants.modelRoles.includes(role)) throw broken(`the model role ${JSON.stringify(role)} is not granted`);
  const { role: _role, signal: _signal, tools: _tools, ...driverOptions } = wanted;
  return {
    role,
    activeToolIds: activeTools(facts),
    options: { ...driverOptions, ...run?.options, ...step?.options },
    contextPolicy: step?.contextPolicy ?? run?.contextPolicy,
  };
}

/** Returns the tools that are both supplied and granted. */
export function grantedTools(supplied: readonly string[], grants: EffectiveGrants): readonly string[] {
  return supplied.filter((name) => grants.toolIds.includes(name));
}

/** Undefined where the call shows no tools and nobody overrides that: what may be dispatched stays as it is. */
function activeTools({ grants, supplied, wanted, run, step }: StepFacts): readonly string[] | undefined {
  const override = step?.activeToolIds ?? run?.activeToolIds;
  const shown = wanted.tools?.map(({ name }) => name);
  const active = override ?? shown?.filter((name) => grants.toolIds.includes(name));
  if (active === undefined) return undefined;
  const doubled = active.find((name, index) => active.indexOf(name) !== index);
  if (doubled !== undefined) throw broken(`the tool ${JSON.stringify(doubled)} is active twice`);
  const granted = new Set([...grantedTools(supplied, grants), ...(shown ?? [])]);
  const foreign = active.find((name) => !(granted.has(name) && grants.toolIds.includes(name)));
  if (foreign !== undefined) throw broken(`the tool ${JSON.stringify(foreign)} is selected and not granted`);
  const dropped = grants.requiredToolIds.find((name) => !active.includes(name));
  if (dropped !== undefined) throw broken(`the required tool ${JSON.stringify(dropped)} is not among the active tools`);
  return active;
}

function stopped(reason: string): RunFailure {
  return new RunFailure(FailureReason.POLICY_STOPPED, reason);
}

function broken(message: string): RunFailure {
  return new RunFailure(FailureReason.PROVIDER_ERROR, message);
}
