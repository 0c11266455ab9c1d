import { ErrorReason, FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import { isHarnessError } from "../core/errors.js";
import type { Evaluation, ProviderContext, TurnOutcome } from "../core/provider.js";
import { announceArtifacts } from "./announce-artifacts.js";
import { type CompletionDecision, toCompletionAction } from "./completion.js";
import { fromContent, toUsageInit } from "./contract-values.js";
import { callDriver, type DriverEnd } from "./driver-calls.js";
import { toFailureReason } from "./driver-output.js";
import type { EngineRun } from "./engine-run.js";
import { HarnessBudgetError, messageOf, RunFailure } from "./errors.js";
import { toJson } from "./message.js";
import type { HarnessDriverOutput } from "./result.js";
import { LEAST_TIME_MS } from "./run-identity.js";
import type { TurnScope } from "./turn-scope.js";

/** Runs one turn of a run and returns how it ended. Never rejects. */
export async function runTurn(run: EngineRun, context: ProviderContext): Promise<TurnOutcome> {
  try {
    await admit(run, context);
    await unlessAborted(run.open(), context.signal);
  } catch (error) {
    return outcomeOfError(run, context, error);
  }
  if (run.interrupted) run.history.undoTurn();
  run.interrupted = false;
  run.history.beginTurn();
  run.turnText.length = 0;
  let turn: TurnScope | undefined;
  try {
    const end = await callDriver(run, context, fromContent(context.input), (begun) => {
      turn = begun;
    });
    return await conclude(end);
  } catch (error) {
    return outcomeOfError(run, context, error);
  } finally {
    turn?.end();
    await turn?.emitter.flush().catch(() => {});
    if (context.signal.aborted) run.interrupted = true;
  }
}

/** Waits for what goes on without the turn; rejects with the signal's reason once the turn must end. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    if (!signal.aborted) await Promise.race([work, aborted.promise]);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Waits until a start in this process is recorded, with the cancel that may have come with it. */
async function admit(run: EngineRun, context: ProviderContext): Promise<void> {
  await run.host.local(run.id.runId)?.admitted;
  context.signal.throwIfAborted();
  if (run.id.deadline !== undefined && run.id.deadline - run.config.clock.now() <= LEAST_TIME_MS) {
    throw new RunFailure(FailureReason.DEADLINE_EXCEEDED, "the deadline has passed");
  }
}

/** What a turn comes to whose driver returned. */
async function conclude({ turn, output }: DriverEnd): Promise<TurnOutcome> {
  const { run } = turn;
  if (run.failure !== undefined) return failed(run.failure.reason, run.failure.message);
  const usage = output.usage === undefined ? {} : { usage: toUsageInit(output.usage) };
  switch (output.status ?? "completed") {
    case "completed":
      return { ...(await complete(turn, output)), ...usage };
    case "awaiting_input":
      return {
        status: "awaiting_input",
        request: { key: `input-${turn.context.turn}`, title: output.text || "Input" },
        ...usage,
      };
    case "cancelled":
      return { status: "cancelled", ...usage };
    default:
      return { ...failed(toFailureReason(output), output.reason?.message ?? `the driver ${output.status}`), ...usage };
  }
}

async function complete(turn: TurnScope, output: HarnessDriverOutput): Promise<TurnOutcome> {
  const { run, context } = turn;
  const evaluated = await evaluate(turn, output);
  if ("status" in evaluated) return evaluated;
  const { evaluation } = evaluated;
  const accepted = evaluation === undefined || evaluation.action === CompletionAction.ACCEPT;
  if (accepted) {
    await announceArtifacts(turn, output);
    await run.commit();
  }
  context.signal.throwIfAborted();
  const structured = output.structured === undefined ? {} : { structuredOutput: toJson(output.structured) ?? null };
  return {
    status: "succeeded",
    finalOutput: output.text,
    ...structured,
    ...(evaluation === undefined ? {} : { evaluation }),
  };
}

type Evaluated = { readonly evaluation: Evaluation | undefined } | Extract<TurnOutcome, { status: "failed" }>;

async function evaluate(turn: TurnScope, { text, structured }: HarnessDriverOutput): Promise<Evaluated> {
  const { run, revision } = turn;
  const policy = run.config.completionPolicy;
  if (policy === undefined) return { evaluation: undefined };
  const decision = await policy.evaluate({ text, structured, revision }, turn.ctx);
  const action = toCompletionAction(decision);
  if (action === undefined) {
    return failed(
      FailureReason.PROVIDER_ERROR,
      `the completion policy ${policy.id} said ${JSON.stringify(decision)}, which is no decision`,
    );
  }
  if (decision.action === "revise") {
    if (revision >= run.ledger.maxRevisions) {
      return failed(
        FailureReason.REVISION_LIMIT,
        `the completion policy asks for more than ${run.ledger.maxRevisions} revision(s)`,
      );
    }
  }
  return { evaluation: { action, reason: decision.reason ?? "", ...instruction(decision) } };
}

function instruction(decision: CompletionDecision): { readonly instruction?: string } {
  if (decision.action === "revise") return { instruction: decision.instruction };
  return decision.action === "await_input" ? { instruction: decision.question } : {};
}

/** What a turn comes to that threw. */
function outcomeOfError(run: EngineRun, context: ProviderContext, error: unknown): TurnOutcome {
  if (context.signal.aborted) return { status: "cancelled" };
  if (run.failure !== undefined) return failed(run.failure.reason, run.failure.message);
  if (error instanceof RunFailure) return failed(error.reason, error.message);
  if (error instanceof HarnessBudgetError) return failed(FailureReason.BUDGET_EXHAUSTED, error.message);
  if (isHarnessError(error, ErrorReason.CONVERSATION_CONFLICT))
    return failed(FailureReason.CONVERSATION_CONFLICT, error.message);
  return failed(FailureReason.PROVIDER_ERROR, messageOf(error));
}

function failed(reason: FailureReason, message: string): Extract<TurnOutcome, { status: "failed" }> {
  return { status: "failed", reason, message };
}
