import { create } from "@bufbuild/protobuf";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionErrorSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { decideResumed, decideStarted, decideStarting, type Failure } from "./decide-run.js";
import { type Decision, nothing } from "./decision.js";
import { type Fold, isCancelling } from "./fold.js";
import { isTerminal } from "./lifecycle.js";
import type { ProviderWork } from "./provider-work.js";
import type { WorkOptions } from "./runner-options.js";
import type { SideRows } from "./store.js";

const RESTARTED: Failure = {
  reason: FailureReason.RUNTIME_RESTARTED,
  message: "the runtime that ran the last attempt is gone",
};

/** What beginning an attempt works on. */
export interface AttemptOptions extends WorkOptions {
  readonly work: ProviderWork;
  /** Looks at what is stored. */
  readonly follow: () => void;
}

/** Takes an execution from QUEUED to RUNNING, into its next attempt, or on with the one that never stopped. */
export async function enter(options: AttemptOptions): Promise<void> {
  const { writer, entry, store, key, work, follow } = options;
  const before = writer.committed;
  const rows = entry === "fresh" ? undefined : await store.getSideRows(key);
  work.openDesk(rows);
  if (entry === "fresh") await beginFirst(options);
  else if (entry === "resume") await beginNext(options, RESTARTED);
  follow();
  // Whoever goes on with a running attempt must be told to stop: only then is there nothing to enter.
  if (isDone(options) && entry !== "reattach") return;
  const attempt = before.execution.attempt + (entry === "resume" ? 1 : 0);
  await prepare(options, attempt, before, rows);
  if (entry !== "reattach") await work.start();
  await started(options);
}

/** The attempt's provider is lost: begins the next one, which knows what is stored. Returns whether it runs. */
export async function enterNext(options: AttemptOptions, lost: Failure): Promise<boolean> {
  const { writer, store, key, work, follow, decide, halt } = options;
  work.lose(lost);
  // What the lost attempt still had under way is stored before it is read.
  await decide((fold) => nothing(fold, undefined));
  const rows = await store.getSideRows(key);
  const before = writer.committed;
  work.openDesk(rows);
  await beginNext(options, lost);
  follow();
  if (isDone(options)) return false;
  await prepare(options, before.execution.attempt + 1, before, rows);
  await work.start();
  await started(options);
  return halt.halt === undefined;
}

async function beginFirst({ decide, node, clock }: AttemptOptions): Promise<void> {
  await decide((fold) => ifIn(fold, ExecutionState.QUEUED, () => decideStarting(fold, node, clock.now())));
}

async function beginNext({ decide, node, clock }: AttemptOptions, previousFailure: Failure): Promise<void> {
  const failure = create(ExecutionErrorSchema, previousFailure);
  await decide((fold) => {
    const over = isCancelling(fold) || isTerminal(fold.execution.state);
    return over ? nothing(fold, undefined) : decideResumed(fold, node, failure, clock.now());
  });
}

/** Makes the attempt's first turn, of which one that is not the first is told what earlier ones left. */
async function prepare(
  { work }: AttemptOptions,
  attempt: number,
  before: Fold,
  rows: SideRows | undefined,
): Promise<void> {
  if (rows !== undefined) work.resumeAs(attempt, before, rows);
  await work.makeTurn(rows !== undefined);
}

/** Enters RUNNING, the first time. */
async function started({ decide, halt, clock, node }: AttemptOptions): Promise<void> {
  if (halt.halt !== undefined) return;
  await decide((fold) => ifIn(fold, ExecutionState.STARTING, () => decideStarted(fold, node, clock.now())));
}

function ifIn(fold: Fold, state: ExecutionState, decide: () => Decision): Decision {
  return fold.execution.state === state ? decide() : nothing(fold, undefined);
}

/** Whether the execution is on its way to an end, or there. */
export function isDone({ halt, writer }: Pick<WorkOptions, "halt" | "writer">): boolean {
  return halt.halt !== undefined || isTerminal(writer.head.execution.state);
}
