import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { RunMode as ContractRunMode } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { checkBudgets, type HarnessBudgets, narrowBudgets } from "./budgets.js";
import type { EngineConfig } from "./config.js";
import type { LocalRunLink } from "./engine-host.js";
import { type EffectiveGrants, narrowGrants } from "./grants.js";
import type { HarnessIdentity, RunMode } from "./identity.js";

/** What stays the same over all turns of a run. */
export interface RunIdentity {
  readonly runId: string;
  readonly attemptId: string;
  readonly sessionId: string;
  readonly identity: HarnessIdentity;
  readonly runMode: RunMode;
  readonly parentRunId: string | undefined;
  readonly rootRunId: string;
  readonly deadline: number | undefined;
  readonly grants: EffectiveGrants;
  readonly budgets: Readonly<HarnessBudgets>;
  /** What the run does while another one has its session. */
  readonly onConflict: "refuse" | "queue";
}

/**
 * Reads a run from its execution and from what its starter in this process said.
 * Fails with VALIDATION_ERROR where the execution asks for more than the host grants.
 */
export function toRunIdentity(
  execution: Execution,
  config: EngineConfig,
  local: LocalRunLink | undefined,
): RunIdentity {
  return {
    runId: execution.id,
    attemptId: String(execution.attempt),
    sessionId: local?.sessionId ?? sessionIdOf(execution),
    identity: Object.freeze({ tenantId: execution.tenantId, userId: execution.userId }),
    runMode: execution.runMode === ContractRunMode.PLAN ? "plan" : "execute",
    parentRunId: local?.parentRunId ?? (execution.parentExecutionId || undefined),
    rootRunId: local?.rootRunId ?? (execution.rootExecutionId || execution.id),
    deadline:
      local?.deadline ?? (execution.deadlineTime === undefined ? undefined : timestampMs(execution.deadlineTime)),
    grants: narrowGrants(config.grants, wantedGrants(execution)),
    budgets: narrowBudgets(config.budgets, wantedBudgets(execution)),
    // After a crash nobody is refused any more: whoever had the session may come behind those who waited for it.
    onConflict:
      execution.attempt > 1 ? "queue" : (local?.onConflict ?? wantedOnConflict(execution) ?? config.onConflict),
  };
}

/** The config key with which a caller names a session other than the conversation's own. */
export const SESSION_KEY = "session_id";

/** The config key with which a caller says what its run does while another one has its session. */
export const ON_CONFLICT_KEY = "on_conflict";

/** With less time than this left before its deadline a run is not begun any more, in milliseconds. */
export const LEAST_TIME_MS = 20;

function sessionIdOf({ effectiveConfig, conversationId }: Execution): string {
  const named = effectiveConfig?.[SESSION_KEY];
  return typeof named === "string" && named !== "" ? named : conversationId;
}

function wantedOnConflict({ effectiveConfig }: Execution): "refuse" | "queue" | undefined {
  const wanted = effectiveConfig?.[ON_CONFLICT_KEY];
  return wanted === "refuse" || wanted === "queue" ? wanted : undefined;
}

/** Grants that are set and empty ask for nothing at all. */
function wantedGrants({ grants }: Execution) {
  if (grants === undefined) return undefined;
  const { toolIds, requiredToolIds, modelRoles } = grants;
  return { toolIds, requiredToolIds, modelRoles };
}

function wantedBudgets({ budgets }: Execution): Readonly<HarnessBudgets> {
  if (budgets === undefined) return {};
  const { maxModelCalls, maxToolCalls, maxTokens, maxRevisions } = budgets;
  return checkBudgets({
    ...(maxModelCalls === undefined ? {} : { maxModelCalls }),
    ...(maxToolCalls === undefined ? {} : { maxToolCalls }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(maxRevisions === undefined ? {} : { maxRevisions }),
  });
}
