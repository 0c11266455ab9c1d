import type { ExecutionPolicy } from "../../engine/policy.js";
import type { RunContext } from "../../engine/run-context.js";
import type { AgentSettings } from "./settings.js";

/** The policy that an agent's `approvals` stand for. */
export function approvalPolicy(approvals: NonNullable<AgentSettings["approvals"]>): ExecutionPolicy {
  return {
    decide: ({ name }, ctx) => {
      const reason = reasonToAsk(approvals, name, ctx);
      return reason === undefined ? { action: "allow" } : { action: "ask", reason };
    },
  };
}

function reasonToAsk(
  approvals: NonNullable<AgentSettings["approvals"]>,
  name: string,
  { executionServices }: RunContext,
): string | undefined {
  if (approvals === "none") return undefined;
  if (approvals === "all") return "every call is to be approved";
  if (approvals !== "unsafe") return approvals.includes(name) ? `${name} is to be approved` : undefined;
  const tool = executionServices?.tools.find((candidate) => candidate.name === name);
  return tool?.effect === "read" ? undefined : `${name} is not known to be read-only`;
}
