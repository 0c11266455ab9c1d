import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import {
  CancelExecutionRequestSchema,
  StartExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { type Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { RunMode as ContractRunMode } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { isTerminal } from "../core/lifecycle.js";
import { fromUsage, jsonOf, toContentInit } from "./contract-values.js";
import type { TeamMember } from "./driver.js";
import { CODE_OF } from "./driver-output.js";
import type { HarnessGrants } from "./grants.js";
import type { MessageContent } from "./message.js";
import { type HarnessChildResult, STOP_CODES } from "./result.js";
import type { TurnScope } from "./turn-scope.js";

const WAIT_MS = 600_000;

/** Returns the provider id of a team's member. */
export function memberProviderId(teamId: string, member: string): string {
  return `${teamId}.${member}`;
}

/** `services.startChild`. */
export async function startChild(turn: TurnScope, member: string, input: MessageContent): Promise<HarnessChildResult> {
  turn.check();
  const { run, context } = turn;
  const { members = {} } = run.config.driver;
  const found = Object.hasOwn(members, member) ? members[member] : undefined;
  if (found === undefined) throw new TypeError(`the team has no member ${JSON.stringify(member)}`);
  const runtime = run.host.runtime();
  const { identity, runId, runMode, deadline } = run.id;
  const request = create(StartExecutionRequestSchema, {
    providerId: memberProviderId(context.execution.providerId, member),
    input: toContentInit(input),
    parentExecutionId: runId,
    runMode: runMode === "plan" ? ContractRunMode.PLAN : ContractRunMode.EXECUTE,
    grants: childGrants(run.id.grants, found),
    ...(deadline === undefined ? {} : { deadlineTime: timestampFromMs(deadline) }),
  });
  const child = await runtime.startExecution(identity, request);
  turn.emitter.push(childEvent("team.child_started", { member, execution_id: child.id }));
  const ended = await run.work.track(follow(turn, child.id));
  const result = toChildResult(ended);
  turn.emitter.push(childEvent("team.child_ended", { member, execution_id: child.id, status: result.status }));
  return result;
}

/** Waits for a child; when the turn ends first, the child is cancelled and waited for all the same. */
async function follow({ run, signal }: TurnScope, executionId: string): Promise<Execution> {
  const runtime = run.host.runtime();
  const { identity } = run.id;
  for (;;) {
    const child = await runtime.waitExecution(identity, executionId, WAIT_MS, signal);
    if (isTerminal(child.state)) return child;
    if (!signal.aborted) continue;
    const request = create(CancelExecutionRequestSchema, {
      executionId,
      reason: "the run that started it ended",
      wait: true,
    });
    return await runtime.cancelExecution(identity, request);
  }
}

/** A member gets what it was given of what the team's own run may use. */
function childGrants(parent: HarnessGrants, { grants = { toolIds: [], modelRoles: [] } }: TeamMember) {
  const within = (names: readonly string[], allowed: readonly string[]): string[] =>
    names.filter((name) => allowed.includes(name));
  return {
    toolIds: within(grants.toolIds, parent.toolIds),
    requiredToolIds: [...(grants.requiredToolIds ?? [])],
    modelRoles: within(grants.modelRoles, parent.modelRoles),
  };
}

function toChildResult({
  id,
  state,
  finalOutput,
  structuredOutput,
  error,
  cancel,
  usage,
}: Execution): HarnessChildResult {
  const common = {
    runId: id,
    text: finalOutput ?? "",
    usage: fromUsage(usage),
    ...jsonOf("structured", structuredOutput),
  };
  if (state === ExecutionState.SUCCEEDED) return { ...common, status: "completed" };
  if (state === ExecutionState.CANCELLED) {
    return { ...common, status: "cancelled", reason: { code: "cancelled", message: cancel?.reason ?? "" } };
  }
  const code = CODE_OF[error?.reason ?? FailureReason.UNSPECIFIED] ?? "execution_failed";
  return {
    ...common,
    status: STOP_CODES.includes(code) ? "stopped" : "failed",
    reason: { code, message: error?.message ?? "" },
  };
}

function childEvent(type: string, data: Record<string, string>) {
  return { case: "providerEvent" as const, value: { type, data } };
}
