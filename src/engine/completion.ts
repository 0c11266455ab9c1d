import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import type { RunContext } from "./run-context.js";

/** The host's judgement of each completed turn. */
export interface CompletionPolicy {
  readonly id: string;
  evaluate(candidate: CompletionCandidate, ctx: RunContext): CompletionDecision | Promise<CompletionDecision>;
}

/** A turn's result before it counts. */
export interface CompletionCandidate {
  readonly text: string;
  readonly structured: unknown;
  /** How many revisions of this turn there were before: 0 for its first result. */
  readonly revision: number;
}

export type CompletionDecision =
  | { readonly action: "accept"; readonly reason?: string }
  /** The driver is to try again, as the next turn, with `instruction` as its input. Needs `budgets.maxRevisions`. */
  | { readonly action: "revise"; readonly instruction: string; readonly reason?: string }
  /** The run ends as `stopped` with POLICY_STOPPED. */
  | { readonly action: "stop"; readonly reason?: string }
  /** Asks the caller; the answer is the next turn's input. */
  | { readonly action: "await_input"; readonly question: string; readonly reason?: string };

const ACTIONS: Readonly<Record<CompletionDecision["action"], CompletionAction>> = {
  accept: CompletionAction.ACCEPT,
  revise: CompletionAction.REVISE,
  stop: CompletionAction.STOP,
  await_input: CompletionAction.AWAIT_INPUT,
};

/** Returns the contract's value for a decision; undefined for one that the engine does not know. */
export function toCompletionAction(decision: { readonly action: string } | undefined): CompletionAction | undefined {
  const action = decision?.action;
  return action !== undefined && Object.hasOwn(ACTIONS, action)
    ? ACTIONS[action as CompletionDecision["action"]]
    : undefined;
}
