import type { EffectiveGrants } from "./grants.js";
import type { ToolCall } from "./message.js";
import type { RunContext } from "./run-context.js";
import type { ToolEffect } from "./tool.js";

/**
 * The host's word on each tool call and effect, asked once a call, after grants
 * and budgets.
 *
 * In plan mode the effect decides first: `read` follows the policy, an unknown
 * effect asks (unless the policy denies), everything else is denied.
 */
export interface ExecutionPolicy {
  /** What it does not answer with one of the three actions, throwing included, is a denial. */
  decide(call: ToolCall, ctx: RunContext): PolicyDecision | Promise<PolicyDecision>;
  /** What the call does to the world, where the host knows better than the tool. */
  resolveEffect?(call: ToolCall, ctx: RunContext): ToolEffect | "unknown" | Promise<ToolEffect | "unknown">;
}

/** `ask` waits for somebody's approval. */
export interface PolicyDecision {
  readonly action: "allow" | "ask" | "deny";
  /** For people; shown with a denial and with the request for approval. */
  readonly reason?: string;
}

/** Allows whatever is granted: the policy of a host that gives none. */
export const ALLOW_GRANTED: ExecutionPolicy = { decide: () => ({ action: "allow" }) };

/** What {@link decideCall} looks at. */
export interface CallFacts {
  readonly call: ToolCall;
  readonly ctx: RunContext;
  readonly grants: EffectiveGrants;
  /** What the current step may call: for an effect, what the run may. Unset: all that is granted. */
  readonly active?: ReadonlySet<string>;
  /** 0 for a turn's first result. */
  readonly revision: number;
  readonly allowRevisionEffects: boolean;
  /** Counts the call; false where the budget is used up. */
  readonly count: () => boolean;
  readonly policy: ExecutionPolicy;
  /** What the tool says of itself. */
  readonly effect?: ToolEffect;
}

/** Decides one call, in the order of {@link CallFacts}; the first denial counts and later checks are not made. */
export async function decideCall(facts: CallFacts): Promise<PolicyDecision> {
  const { call, grants, active } = facts;
  const withinBudget = facts.count();
  if (!grants.toolIds.includes(call.name)) return deny(`${call.name} is not granted`);
  if (active !== undefined && !active.has(call.name)) return deny(`${call.name} is not active in this step`);
  if (facts.revision > 0 && !facts.allowRevisionEffects) return deny("a revision may not have new effects");
  if (!withinBudget) return deny("the budget of tool calls is used up");
  const decision = await askPolicy(facts);
  if (decision.action === "deny" || facts.ctx.runMode !== "plan") return decision;
  return planDecision(await resolveEffect(facts), decision);
}

/** What plan mode makes of a policy's word that is not a denial. */
export function planDecision(effect: ToolEffect | "unknown", decision: PolicyDecision): PolicyDecision {
  if (effect === "read") return decision;
  if (effect === "unknown")
    return { action: "ask", reason: decision.reason ?? "its effect is not known, and the run only plans" };
  return deny(`the run only plans, and this would ${EFFECT_VERBS[effect]}`);
}

const EFFECT_VERBS: Readonly<Record<Exclude<ToolEffect, "read">, string>> = {
  write: "write",
  execute: "execute something",
  external: "reach outside",
};

async function askPolicy({ policy, call, ctx }: CallFacts): Promise<PolicyDecision> {
  try {
    const decision: PolicyDecision | undefined = await policy.decide(call, ctx);
    const action = decision?.action;
    if (action === "allow" || action === "ask" || action === "deny") return decision;
    return deny(`the policy said ${JSON.stringify(action)}, which counts as deny`);
  } catch {
    return deny("the policy failed, which counts as deny");
  }
}

async function resolveEffect({ policy, call, ctx, effect }: CallFacts): Promise<ToolEffect | "unknown"> {
  try {
    const resolved = await policy.resolveEffect?.(call, ctx);
    return resolved ?? effect ?? "unknown";
  } catch {
    return "unknown";
  }
}

function deny(reason: string): PolicyDecision {
  return { action: "deny", reason };
}
