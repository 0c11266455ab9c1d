import { isDeepStrictEqual } from "node:util";
import { type Approvable, decideApproval } from "./approval-requests.js";
import { canonicalJson } from "./canonical-json.js";
import { HarnessDenialError, messageOf, RunFailure } from "./errors.js";
import { toLogged } from "./logged-value.js";
import type { ToolCall } from "./message.js";
import { nameOf } from "./model-call.js";
import { decideCall, type PolicyDecision } from "./policy.js";
import type { RunContext } from "./run-context.js";
import type { EffectOptions } from "./services.js";
import type { ToolCallResult, ToolDef, ToolDenial, ToolEffect } from "./tool.js";
import { checkArguments } from "./tool-schema.js";
import type { TurnScope } from "./turn-scope.js";

/** What a call does once it may. */
interface Target extends Approvable {
  readonly effect?: ToolEffect;
  /** Whether the current step's choice of tools holds for it. */
  readonly stepped: boolean;
  run(args: Record<string, unknown>, ctx: RunContext): unknown;
}

/** What became of a call. */
type Outcome =
  | { readonly kind: "ran"; readonly value: unknown }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "denied"; readonly denial: ToolDenial; readonly reason: string };

/** Of an error's text the log has so many characters. */
const KEPT_CHARS = 4_096;

/** `services.dispatch`. */
export async function dispatch(turn: TurnScope, given: ToolCall): Promise<ToolCallResult> {
  turn.check();
  await turn.emitter.room();
  const call = given.id === "" ? { ...given, id: nextId(turn, "call") } : given;
  const tool = turn.run.tools.find(({ name }) => name === call.name);
  const outcome = await perform(turn, call, async (args) => {
    if (tool === undefined) return { problem: `there is no tool ${JSON.stringify(call.name)}` };
    const checked = await checkArguments(tool, args);
    return "problem" in checked ? checked : { args: checked.args, target: { ...bindTool(tool), stepped: true } };
  });
  return toResult(call, outcome);
}

/** `services.dispatchEffect`. */
export async function dispatchEffect<T>(
  turn: TurnScope,
  name: string,
  args: Record<string, unknown>,
  execute: (args: Record<string, unknown>, ctx: RunContext) => Promise<T>,
  { key }: EffectOptions = {},
): Promise<T> {
  turn.check();
  await turn.emitter.room();
  const call: ToolCall = {
    id: nextId(turn, "effect"),
    name,
    arguments: args,
  };
  const target: Target = {
    stepped: false,
    run: (given, ctx) => execute(given, ctx),
    ...(key === undefined ? {} : { key }),
  };
  const outcome = await perform(turn, call, async (given) => ({ args: given as Record<string, unknown>, target }));
  if (outcome.kind === "denied") throw new HarnessDenialError(name, outcome.denial, outcome.reason);
  if (outcome.kind === "failed") throw outcome.error;
  return outcome.value as T;
}

/** An id that no other call of the run has. */
function nextId({ run: { id, ledger } }: TurnScope, kind: "call" | "effect"): string {
  return `${kind}-${id.attemptId}-${ledger.toolCalls + 1}`;
}

/** `services.observeTool`. */
export async function observeTool(turn: TurnScope, result: ToolCallResult): Promise<void> {
  turn.checkOpen();
  await turn.emitter.room();
  const { toolCallId, toolName } = result;
  turn.run.spans
    .tool({ toolName })
    .end("tool.result", { toolName, ...(result.denial === undefined ? {} : { denial: result.denial }) });
  turn.emitter.push({ case: "toolCallStarted", value: { toolCallId, name: toolName } });
  turn.emitter.push(completed(result));
}

type Found = { readonly problem: string } | { readonly args: Record<string, unknown>; readonly target: Target };
/** Finds what a call means by a copy of its arguments that nobody else has. */
type Find = (args: unknown) => Promise<Found>;

/** One attempt: logged, counted and decided once, then made or not. */
async function perform(turn: TurnScope, call: ToolCall, find: Find): Promise<Outcome> {
  const { run, emitter } = turn;
  const within = run.ledger.countToolCall();
  const span = run.spans.tool({ toolName: call.name });
  emitter.push({
    case: "toolCallStarted",
    value: { toolCallId: call.id, name: call.name, input: toLogged(call.arguments) },
  });
  const outcome = await run.work.track(attempt(turn, call, within, find)).catch((error: unknown) => {
    // The run itself ends with this; the call ends with it too.
    span.end("tool.error", { toolName: call.name, errorName: nameOf(error) });
    emitter.push(completed(toResult(call, { kind: "failed", error })));
    throw error;
  });
  if (outcome.kind === "failed") span.end("tool.error", { toolName: call.name, errorName: nameOf(outcome.error) });
  else
    span.end("tool.result", { toolName: call.name, ...(outcome.kind === "denied" ? { denial: outcome.denial } : {}) });
  emitter.push(completed(toResult(call, outcome)));
  return outcome;
}

async function attempt(turn: TurnScope, given: ToolCall, within: boolean, find: Find): Promise<Outcome> {
  const copied = copyOf(given.arguments);
  const found = "problem" in copied ? copied : await find(copied.args);
  const granted = turn.run.id.grants.toolIds.includes(given.name);
  if ("problem" in found && granted) return { kind: "failed", error: new TypeError(found.problem) };
  const target: Target = "problem" in found ? { stepped: true, run: () => undefined } : found.target;
  // What is reviewed is what runs: whoever made the call has no hold on it any more.
  const call = "problem" in copied ? given : { ...given, arguments: copied.args };
  const decision = await decide(turn, call, within, target);
  if (decision.action === "deny") return denied("policy", decision.reason);
  const approval = await turn.guard(() => decideApproval(turn, call, decision, target));
  if (approval !== undefined) return denied(approval.denial, approval.reason);
  if ("problem" in found) return denied("policy", found.problem);
  if (!isSame(given.arguments, call.arguments))
    return denied("policy", "the arguments changed after they were reviewed");
  return await make(turn, target, found.args);
}

function copyOf(args: unknown): { readonly args: unknown } | { readonly problem: string } {
  try {
    return { args: structuredClone(args) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function isSame(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(left, right) || canonicalJson(left) === canonicalJson(right);
}

function decide(turn: TurnScope, call: ToolCall, within: boolean, target: Target): Promise<PolicyDecision> {
  const { run } = turn;
  const active = target.stepped ? turn.active : run.active;
  return decideCall({
    call,
    ctx: turn.ctx,
    grants: run.id.grants,
    revision: turn.revision,
    allowRevisionEffects: run.config.allowRevisionEffects,
    count: () => within,
    policy: run.config.executionPolicy,
    ...(active === undefined ? {} : { active }),
    ...(target.effect === undefined ? {} : { effect: target.effect }),
  });
}

async function make(turn: TurnScope, target: Target, args: Record<string, unknown>): Promise<Outcome> {
  await turn.emitter.flush();
  if (turn.signal.aborted) return denied("cancelled", "the turn was ended");
  try {
    return { kind: "ran", value: await target.run(args, turn.ctx) };
  } catch (error) {
    if (error instanceof RunFailure) turn.run.fail(error);
    return { kind: "failed", error };
  }
}

function bindTool(tool: ToolDef): Omit<Target, "stepped"> {
  return {
    run: (args, ctx) => tool.execute(args, ctx),
    ...(tool.effect === undefined ? {} : { effect: tool.effect }),
    ...(tool.requiresApproval === undefined ? {} : { requiresApproval: tool.requiresApproval }),
  };
}

function denied(denial: ToolDenial, reason = "the policy denies it"): Outcome {
  return { kind: "denied", denial, reason };
}

function toResult({ id, name }: ToolCall, outcome: Outcome): ToolCallResult {
  const call = { toolCallId: id, toolName: name };
  if (outcome.kind === "ran") return { ...call, result: outcome.value };
  if (outcome.kind === "failed") return { ...call, error: messageOf(outcome.error) };
  return { ...call, error: outcome.reason, denial: outcome.denial };
}

function completed({ toolCallId, toolName, result, error, denial }: ToolCallResult) {
  return {
    case: "toolCallCompleted" as const,
    value: {
      toolCallId,
      name: toolName,
      ...(result === undefined ? {} : { output: toLogged(result) }),
      error: (error ?? "").slice(0, KEPT_CHARS),
      denied: denial !== undefined,
    },
  };
}
