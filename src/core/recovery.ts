import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { bounded, promised } from "./bounded.js";
import { supports } from "./capability.js";
import type { Clock } from "./clock.js";
import type { Cleanup, Failure } from "./decide-run.js";
import { toExecution } from "./fold.js";
import type { LiveExecution } from "./live-execution.js";
import { thrown } from "./outcome.js";
import type { Provider } from "./provider.js";

/** How an execution that a dead runtime left behind goes on. */
export type Recovered =
  | { readonly kind: "queue" }
  | { readonly kind: "run"; readonly entry: "resume" | "reattach" }
  | { readonly kind: "end"; readonly failure: Failure | undefined; readonly cleanup: Cleanup };

const SWEEP_LIMIT_MS = 10_000;

const RESTARTED: Failure = {
  reason: FailureReason.RUNTIME_RESTARTED,
  message: "the runtime restarted while the execution ran, and its provider cannot resume it",
};
const LOST: Failure = {
  reason: FailureReason.PROVIDER_LOST,
  message: "the provider that ran the execution did not come back after the runtime restarted",
};

const TIMED_OUT: Failure = {
  reason: FailureReason.ACTION_TIMEOUT,
  message: "nobody answered an action in time, and the runtime restarted before the execution had ended for it",
};

/**
 * Decides what becomes of an execution found unfinished at start: the
 * contract's "Recovery". What an earlier attempt left behind is ended first; a
 * remote instance that still runs the attempt goes on with it.
 */
export async function recover(
  live: LiveExecution,
  provider: Provider | undefined,
  clock: Clock,
  graceMs: number,
): Promise<Recovered> {
  const { state } = live.writer.committed.execution;
  if (state === ExecutionState.QUEUED) return { kind: "queue" };
  if (provider === undefined) return { kind: "end", failure: LOST, cleanup: { error: "" } };
  const { actionTimedOut } = live.writer.committed.inner;
  if (actionTimedOut) await live.fail(TIMED_OUT); // Whoever goes on with the attempt is told to end it.
  const remote = provider.manifest.topologies.includes(Topology.REMOTE);
  if (state !== ExecutionState.CANCELLING && (await reattaches(live, provider, clock, graceMs))) {
    return { kind: "run", entry: "reattach" };
  }
  const cleanup = await sweep(live, provider, clock, remote ? graceMs : SWEEP_LIMIT_MS);
  if (state === ExecutionState.CANCELLING) return { kind: "end", failure: undefined, cleanup };
  if (actionTimedOut) return { kind: "end", failure: TIMED_OUT, cleanup };
  if (supports(provider.manifest, "execution.resume")) return { kind: "run", entry: "resume" };
  return { kind: "end", failure: remote ? LOST : RESTARTED, cleanup };
}

/**
 * Whether an execution waits for somebody's answer and the next start takes it
 * up with its question still open: a runtime that closes need not wait for it.
 */
export function isParked(execution: Execution, provider: Provider): boolean {
  const awaits =
    execution.state === ExecutionState.AWAITING_APPROVAL || execution.state === ExecutionState.AWAITING_INPUT;
  return awaits && supports(provider.manifest, "execution.resume");
}

async function reattaches(live: LiveExecution, provider: Provider, clock: Clock, graceMs: number): Promise<boolean> {
  if (provider.reattach === undefined) return false;
  const abort = new AbortController();
  const { committed } = live.writer;
  const execution = toExecution(committed);
  const outcome = await bounded(
    clock,
    graceMs,
    promised(() => provider.reattach?.(execution, abort.signal, committed.inner.mark) ?? false),
  );
  abort.abort();
  return outcome.kind === "done" && outcome.value;
}

async function sweep(live: LiveExecution, provider: Provider, clock: Clock, limitMs: number): Promise<Cleanup> {
  const execution = toExecution(live.writer.committed);
  const swept = await bounded(
    clock,
    limitMs,
    promised(() => provider.recover?.(execution)),
  );
  if (swept.kind === "threw") return { error: thrown(swept.error).message };
  if (swept.kind === "late") return { error: `what an earlier attempt left was not ended within ${limitMs} ms` };
  const { error = "", containment } = swept.value ?? {};
  return { error, ...(containment === undefined ? {} : { containment }) };
}
