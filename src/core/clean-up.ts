import { create, toBinary } from "@bufbuild/protobuf";
import { type ContainmentReport, ContainmentReportSchema } from "../../gen/ts/harnessruntime/v1/containment_pb.js";
import { type Bounded, bounded, promised } from "./bounded.js";
import type { Clock } from "./clock.js";
import type { Cleanup } from "./decide-run.js";
import { reportedUsage, thrown } from "./outcome.js";
import type { CleanupReport, Provider } from "./provider.js";
import type { Turn } from "./turn.js";
import type { HaltCause } from "./turn-aborted.js";
import { wellFormed } from "./well-formed.js";

const CANCEL_TIMEOUT_MS = 10_000;

/** Returns how long a provider's native work may take to end, in milliseconds. */
export function cancelTimeoutOf({ cancelTimeoutMs = CANCEL_TIMEOUT_MS }: Provider): number {
  return cancelTimeoutMs;
}

/**
 * Ends native work whose turn was aborted: calls the provider's hook once and
 * waits for what runs, all within the limit. Never rejects: what went wrong is
 * in the result.
 */
export async function cleanUp(
  clock: Clock,
  provider: Provider,
  turn: Turn,
  running: Promise<unknown>,
  reason: string,
  why: HaltCause,
): Promise<Cleanup> {
  const limitMs = cancelTimeoutOf(provider);
  const calling = promised(() => provider.cancel?.(turn, reason, why));
  // Both bounds begin now: what is left of the limit could not be told by a clock that is set meanwhile.
  const [hook, rest] = await Promise.all([bounded(clock, limitMs, calling), bounded(clock, limitMs, running)]);
  return toCleanup(hook, rest, limitMs);
}

function toCleanup(hook: Bounded<CleanupReport | undefined>, rest: Bounded<unknown>, limitMs: number): Cleanup {
  const errors: string[] = [];
  if (hook.kind === "threw") errors.push(thrown(hook.error).message);
  if (hook.kind === "late") errors.push(`the provider's cancel hook did not return within ${limitMs} ms`);
  if (rest.kind === "late") errors.push(`the provider did not stop within ${limitMs} ms`);
  const report = hook.kind === "done" ? hook.value : undefined;
  if (report?.error) errors.push(String(report.error));
  const containment = containmentOf(report);
  if (containment === "unreadable") errors.push("the provider's containment report cannot be read");
  const usage = rest.kind === "done" ? reportedUsage(rest.value) : undefined;
  const used = usage === undefined ? {} : { usage };
  return { error: errors.join("; "), ...used, ...(typeof containment === "object" ? { containment } : {}) };
}

function containmentOf(report: CleanupReport | undefined): ContainmentReport | "unreadable" | undefined {
  if (report?.containment === undefined) return undefined;
  try {
    const containment = create(ContainmentReportSchema, wellFormed(report.containment));
    toBinary(ContainmentReportSchema, containment);
    return containment;
  } catch {
    return "unreadable";
  }
}
