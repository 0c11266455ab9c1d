import { create, fromJson, type JsonValue, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ContainmentReportSchema } from "../../gen/ts/harnessruntime/v1/containment_pb.js";
import { ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type ExecutionError, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import type { Usage } from "../../gen/ts/harnessruntime/v1/usage_pb.js";
import { cutText } from "./cut-text.js";
import { type ActionKeyed, abandonOpenAction, decideOpenAction } from "./decide-action.js";
import { dropAll, nextTurnInput } from "./decide-input.js";
import { type Decision, nothing, type PayloadInit, record } from "./decision.js";
import { turnInputId } from "./evolve.js";
import { type Fold, isCancelling, lastReport, withReport } from "./fold.js";
import { isTerminal } from "./lifecycle.js";
import { MAX_MESSAGE_BYTES, MAX_OUTPUT_BYTES } from "./limits.js";
import type { Evaluation } from "./provider.js";
import type { Caller } from "./runtime.js";

/** Why an execution fails: remembered while its cleanup runs, then written. */
export interface Failure {
  readonly reason: FailureReason;
  readonly message: string;
  /** What the provider says was used so far. */
  readonly usage?: Usage;
}

/** What the cleanup of a cancelled or failed execution found. */
export interface Cleanup {
  readonly error: string;
  /** What the provider says was used so far, where it said so while it ended. */
  readonly usage?: Usage;
  readonly containment?: MessageInitShape<typeof ContainmentReportSchema>;
}

/** A successful turn, checked: sizes are within the limits. */
export interface Success {
  readonly finalOutput: string;
  readonly truncated: boolean;
  readonly structuredOutput?: JsonValue;
  /** What the provider says was used so far. */
  readonly usage?: Usage;
  readonly evaluation?: Evaluation;
}

const { QUEUED, STARTING } = ExecutionState;

/** Enters STARTING. */
export function decideStarting(fold: Fold, node: string, nowMs: number): Decision {
  return { ...record(fold, [entered("runStarting", fold, node)], nowMs), result: undefined };
}

/** Enters RUNNING for the first time. */
export function decideStarted(fold: Fold, node: string, nowMs: number): Decision {
  return { ...record(fold, [entered("runStarted", fold, node)], nowMs), result: undefined };
}

/** Begins the next attempt, in the state that the last one left. */
export function decideResumed(fold: Fold, node: string, previousFailure: ExecutionError, nowMs: number): Decision {
  const attempt = fold.execution.attempt + 1;
  return {
    ...record(fold, [{ case: "runResumed", value: { attempt, node, previousFailure } }], nowMs),
    result: undefined,
  };
}

function entered(kind: "runStarting" | "runStarted", { execution }: Fold, node: string): PayloadInit {
  const value = { providerId: execution.providerId, attempt: execution.attempt, node };
  return kind === "runStarting" ? { case: kind, value } : { case: kind, value };
}

/**
 * Asks to stop: `run_cancelling`, and the open action is abandoned. Where nobody
 * runs the execution it is cancelled in the same write. Nothing where it is
 * CANCELLING or terminal. The result tells whether anything changed.
 */
export function decideCancel(
  fold: Fold,
  reason: string,
  principal: Caller | undefined,
  owned: boolean,
  nowMs: number,
): Decision<boolean> {
  if (isCancelling(fold) || isTerminal(fold.execution.state)) return nothing(fold, false);
  const abandoned = abandonOpenAction(fold, "the execution was cancelled");
  const cancelling: PayloadInit = {
    case: "runCancelling",
    value: { reason: cutText(reason, MAX_MESSAGE_BYTES).text, ...(principal === undefined ? {} : { principal }) },
  };
  const payloads = [cancelling, ...(abandoned?.payloads ?? [])];
  const asked = record(fold, payloads, nowMs);
  const side = abandoned === undefined ? {} : { side: abandoned.side };
  if (owned) return { ...asked, ...side, result: true };
  const ended = decideEnd(asked.fold, undefined, { error: "" }, "", nowMs);
  return { fold: ended.fold, events: [...asked.events, ...ended.events], ...side, result: true };
}

/**
 * Ends an execution that did not succeed: CANCELLED where it was asked to stop,
 * else FAILED with `failure`. Nothing where it is terminal.
 */
export function decideEnd(
  fold: Fold,
  failure: Failure | undefined,
  cleanup: Cleanup,
  partialOutput: string,
  nowMs: number,
): Decision {
  if (isTerminal(fold.execution.state)) return nothing(fold, undefined);
  const abandoned = abandonOpenAction(fold, "the execution ended");
  const usage = usageOf(fold, cleanup.usage ?? failure?.usage);
  const last = isCancelling(fold)
    ? cancelled(fold, cleanup, usage)
    : failed(mustFail(failure), cleanup, partialOutput, usage);
  const missing = isCancelling(fold) ? [] : missingEntries(fold);
  const payloads = [...(abandoned?.payloads ?? []), ...dropAll(fold), ...missing, last];
  return { ...record(fold, payloads, nowMs), ...(abandoned && { side: abandoned.side }), result: undefined };
}

function mustFail(failure: Failure | undefined): Failure {
  if (failure === undefined) throw new RangeError("an execution that was not cancelled ends with a failure");
  return failure;
}

/** FAILED is entered from RUNNING alone: what is missing before it. */
function missingEntries(fold: Fold): PayloadInit[] {
  const started = entered("runStarted", fold, "");
  if (fold.execution.state === QUEUED) return [entered("runStarting", fold, ""), started];
  return fold.execution.state === STARTING ? [started] : [];
}

function cancelled({ execution }: Fold, cleanup: Cleanup, usage: UsageField): PayloadInit {
  return {
    case: "runCancelled",
    value: { reason: execution.cancel?.reason ?? "", ...cleanedUp(cleanup), ...usage },
  };
}

function failed({ reason, message }: Failure, cleanup: Cleanup, partial: string, usage: UsageField): PayloadInit {
  return {
    case: "runFailed",
    value: {
      reason,
      message: cutText(message, MAX_MESSAGE_BYTES).text || FailureReason[reason],
      partialOutput: cutText(partial, MAX_OUTPUT_BYTES).text,
      ...cleanedUp(cleanup),
      ...usage,
    },
  };
}

function cleanedUp({ error, containment }: Cleanup) {
  return {
    cleanupError: cutText(error, MAX_MESSAGE_BYTES).text,
    ...(containment === undefined ? {} : { containment }),
  };
}

interface UsageField {
  readonly usage?: Usage;
}

/** What an execution used: as its model calls were counted, else as its provider says, now or after the last turn that did. */
function usageOf(fold: Fold, reported: Usage | undefined): UsageField {
  const { usage: counted } = fold.execution;
  const usage = counted?.modelCalls ? counted : (reported ?? lastReport(fold) ?? counted);
  return usage === undefined ? {} : { usage };
}

/** How a successful turn goes on. */
export type Continuation = "ended" | "next_turn" | "revise" | "stopped" | "cancelling";

/**
 * Ends a successful turn. The execution is over (`ended`) unless it was asked to
 * stop, or an input waits for the next turn (then nothing is decided), or the
 * completion policy says otherwise: `revise` begins the next turn, `stopped`
 * records the evaluation and leaves the failure to the runner. AWAIT_INPUT is
 * {@link decideAwaitInput}.
 */
export function decideSuccess(fold: Fold, success: Success, nowMs: number): Decision<Continuation> {
  if (isTerminal(fold.execution.state)) return nothing(fold, "ended");
  if (isCancelling(fold)) return nothing(fold, "cancelling");
  const { evaluation } = success;
  if (evaluation === undefined || evaluation.action === CompletionAction.ACCEPT) return accept(fold, success, nowMs);
  const recorded = judged(fold, evaluation, success.usage, nowMs);
  switch (evaluation.action) {
    case CompletionAction.STOP:
      return { ...recorded, result: "stopped" };
    case CompletionAction.REVISE: {
      const text = evaluation.instruction ?? evaluation.reason;
      const body = toBinary(ContentSchema, create(ContentSchema, { text }));
      const inputId = turnInputId(recorded.fold.execution.turn);
      return { ...recorded, side: { inputs: [{ inputId, bytes: body }] }, result: "revise" };
    }
    default:
      throw new RangeError(`${CompletionAction[evaluation.action]} is no way to go on after a turn`);
  }
}

/** Records an evaluation, and what the provider says was used when it came to it. */
function judged(fold: Fold, evaluation: Evaluation, usage: Usage | undefined, nowMs: number) {
  const recorded = record(fold, [evaluated(fold, evaluation)], nowMs);
  return { ...recorded, fold: withReport(recorded.fold, usage) };
}

/** Opens the INPUT action whose answer begins the next turn, with the evaluation that asks for it. */
export function decideAwaitInput(
  fold: Fold,
  { evaluation, usage }: { readonly evaluation: Evaluation; readonly usage?: Usage },
  keyed: ActionKeyed,
  nowMs: number,
): Decision<"awaiting" | "cancelling"> {
  if (isCancelling(fold) || isTerminal(fold.execution.state)) return nothing(fold, "cancelling");
  const recorded = judged(fold, evaluation, usage, nowMs);
  const opened = decideOpenAction(recorded.fold, keyed, nowMs);
  return { ...opened, events: [...recorded.events, ...opened.events], result: "awaiting" };
}

function evaluated({ inner }: Fold, { action, reason }: Evaluation): PayloadInit {
  const revision = inner.revision + (action === CompletionAction.REVISE ? 1 : 0);
  return { case: "completionEvaluated", value: { action, reason: cutText(reason, MAX_MESSAGE_BYTES).text, revision } };
}

function accept(fold: Fold, success: Success, nowMs: number): Decision<Continuation> {
  const accepted = success.evaluation === undefined ? [] : [evaluated(fold, success.evaluation)];
  if (nextTurnInput(fold) !== undefined) {
    const recorded = record(fold, accepted, nowMs);
    const side = success.usage === undefined ? {} : { side: {} };
    return { ...recorded, fold: withReport(recorded.fold, success.usage), ...side, result: "next_turn" };
  }
  const { finalOutput, truncated, structuredOutput } = success;
  const payloads: PayloadInit[] = [
    ...accepted,
    ...dropAll(fold),
    { case: "outputTextDone", value: { text: finalOutput, itemId: "" } },
    {
      case: "runCompleted",
      value: {
        finalOutput,
        finalOutputTruncated: truncated,
        ...(structuredOutput === undefined ? {} : { structuredOutput: fromJson(ValueSchema, structuredOutput) }),
        ...usageOf(fold, success.usage),
      },
    },
  ];
  return { ...record(fold, payloads, nowMs), result: "ended" };
}
