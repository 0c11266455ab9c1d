import { create } from "@bufbuild/protobuf";
import { ActionKind } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { RespondActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { MAX_JSON_DEPTH } from "../core/check-json.js";
import { MAX_DESCRIPTOR_BYTES } from "../core/limits.js";
import type { ActionAnswer, ActionInit } from "../core/provider.js";
import { type ApprovalDecision, type ApprovalManager, type ApprovalRequest, wantsApproval } from "./approvals.js";
import { canonicalSha256 } from "./canonical-json.js";
import { messageOf, RunFailure } from "./errors.js";
import { isWithin } from "./logged-value.js";
import { type ToolCall, toJson } from "./message.js";
import type { PolicyDecision } from "./policy.js";
import type { ToolDef, ToolDenial } from "./tool.js";
import type { TurnScope } from "./turn-scope.js";

/** Why a call is not made for want of somebody's word. */
export interface Refusal {
  readonly denial: ToolDenial;
  readonly reason: string;
}

/** What a call's target says of approvals. */
export interface Approvable {
  readonly requiresApproval?: ToolDef["requiresApproval"];
  /** The call's own key, the same in every attempt at it. Unset: what is called, and how often it was in this turn. */
  readonly key?: string;
}

/** Arguments shown to whoever approves: longer or deeper ones are shown as the beginning of their JSON. */
const SHOWN = { chars: 16_384, bytes: MAX_DESCRIPTOR_BYTES / 2, depth: MAX_JSON_DEPTH - 1 };
/** Of a decision's reason the answer carries so many characters. */
const MAX_REASON_CHARS = 1_000;

/**
 * Gets somebody's word on a call where the policy, the tool or the manager wants
 * it. Returns nothing where it may be made. Throws a {@link RunFailure} where the
 * time is over and that ends the run, or an answer may have been applied before.
 */
export async function decideApproval(
  turn: TurnScope,
  call: ToolCall,
  decision: PolicyDecision,
  { requiresApproval, key }: Approvable,
): Promise<Refusal | undefined> {
  const { approvalManager: manager, served } = turn.run.config;
  const wanted = decision.action === "ask" || toolAsks(requiresApproval, call) || wantsApproval(manager, call.name);
  if (!wanted) return undefined;
  if (manager === undefined && !served) {
    return { denial: "approval_required", reason: "it needs an approval, and there is nobody to ask" };
  }
  return await ask(turn, call, decision.reason, key);
}

function toolAsks(requiresApproval: ToolDef["requiresApproval"], call: ToolCall): boolean {
  if (typeof requiresApproval !== "function") return requiresApproval ?? false;
  try {
    return requiresApproval(structuredClone(call.arguments) as Record<string, unknown>);
  } catch {
    return true;
  }
}

/** Opens an action; whoever answers first, a client or the manager, decides. */
async function ask(
  turn: TurnScope,
  call: ToolCall,
  reason: string | undefined,
  key: string | undefined,
): Promise<Refusal | undefined> {
  const { run, context } = turn;
  const manager = run.config.approvalManager;
  let decided: ApprovalDecision | undefined;
  let openId = "";
  const answering = async (actionId: string): Promise<void> => {
    openId = actionId;
    if (manager === undefined) return;
    decided = await decisionOf(manager, toRequest(turn, actionId, call, reason));
    await answer(turn, actionId, decided);
  };
  let given: ActionAnswer;
  try {
    // Whoever answers sees the call first.
    await turn.emitter.flush();
    const request: ActionInit = {
      key: run.approvalKey(context.turn, canonicalSha256(key ?? [call.name, call.arguments]).slice(0, 32)),
      kind: ActionKind.APPROVAL,
      title: `Allow ${call.name}?`,
      description: reason ?? "",
      payload: { tool: call.name, arguments: shown(call.arguments) },
      onOpen: (actionId) => void answering(actionId),
    };
    given = await run.approvalSlots.within(() => context.requestAction(request));
  } catch (error) {
    manager?.deny(openId, "the turn ended");
    if (turn.signal.aborted) return { denial: "cancelled", reason: "the turn ended before anybody answered" };
    throw error;
  }
  manager?.deny(given.actionId, "it was answered elsewhere");
  if (decided?.by === "timeout" && manager?.timeoutAction === "throw" && !given.approved) {
    throw new RunFailure(FailureReason.ACTION_TIMEOUT, decided.reason ?? "nobody answered in time");
  }
  if (given.delivered) {
    throw new RunFailure(
      FailureReason.PROVIDER_LOST,
      `${call.name} was answered before a restart; whether it was run is not known`,
    );
  }
  return given.approved ? undefined : { denial: "approval_denied", reason: reasonOf(given) };
}

function reasonOf({ expired, metadata }: ActionAnswer): string {
  if (expired) return "nobody approved it in time";
  const reason = metadata?.["reason"];
  return typeof reason === "string" && reason !== "" ? `its approval was denied: ${reason}` : "its approval was denied";
}

function toRequest(turn: TurnScope, id: string, call: ToolCall, reason: string | undefined): ApprovalRequest {
  const { runId, sessionId, identity } = turn.run.id;
  return {
    id,
    runId,
    sessionId,
    ...identity,
    call: structuredClone(call),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** A manager that fails has denied. */
async function decisionOf(manager: ApprovalManager, request: ApprovalRequest): Promise<ApprovalDecision> {
  try {
    const { approved, reason, by } = await manager.check(request);
    return { approved: approved === true, by, ...(typeof reason === "string" ? { reason } : {}) };
  } catch (error) {
    return { approved: false, by: "host", reason: messageOf(error) };
  }
}

/** Lets the host's manager answer an open action as any client would. */
async function answer(turn: TurnScope, actionId: string, { approved, reason }: ApprovalDecision): Promise<void> {
  // The end of a turn closes its action itself.
  if (turn.signal.aborted) return;
  const { runId, identity } = turn.run.id;
  const metadata = { reason: (reason ?? "").slice(0, MAX_REASON_CHARS).toWellFormed() };
  const response = { approved, ...(reason === undefined ? {} : { metadata }) };
  const request = create(RespondActionRequestSchema, { executionId: runId, actionId, response });
  try {
    await turn.run.host.runtime().respondAction(identity, request);
  } catch {
    // Somebody else was faster, or the run ended: there is nothing left to answer.
  }
}

function shown(value: unknown) {
  const json = toJson(value) ?? null;
  const text = JSON.stringify(json);
  return isWithin(json, text, SHOWN) ? json : `${text.slice(0, SHOWN.chars).toWellFormed()}…`;
}
