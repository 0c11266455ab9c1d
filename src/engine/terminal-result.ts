import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { RunCancelled, RunCompleted, RunFailed } from "../../gen/ts/harnessruntime/v1/run_events_pb.js";
import { fromUsage, jsonOf } from "./contract-values.js";
import { CODE_OF } from "./driver-output.js";
import { type HarnessArtifactRef, type HarnessReason, type HarnessResult, STOP_CODES } from "./result.js";

/** What the event that ends a run does not say itself. */
export interface RunEnd {
  readonly sessionId: string;
  readonly artifacts: readonly HarnessArtifactRef[];
  readonly diagnostics: readonly string[];
}

/** An output that the contract cut, or may have cut, is this long, in bytes. */
const CUT_BYTES = 65_536 - 3;
/** What the embedded API keeps of it, in characters. */
const KEPT_CHARS = 4_096;

/** Returns the result that a terminal event stands for. */
export function toResult(event: Event, end: RunEnd): HarnessResult {
  const outcome = outcomeOf(event);
  const diagnostics = end.diagnostics.length > 0 ? end.diagnostics : outcome.cleanupError;
  return {
    ...outcome.fields,
    usage: fromUsage(outcome.usage),
    runId: event.executionId,
    sessionId: end.sessionId,
    finalCursor: event.sequence,
    ...(end.artifacts.length === 0 ? {} : { artifacts: [...end.artifacts] }),
    ...(diagnostics.length === 0 ? {} : { cleanupDiagnostics: [...diagnostics] }),
  };
}

interface Outcome {
  readonly fields: Pick<HarnessResult, "status" | "text" | "structured" | "reason">;
  readonly usage: Parameters<typeof fromUsage>[0];
  readonly cleanupError: readonly string[];
}

function outcomeOf({ payload }: Event): Outcome {
  if (payload.case === "runCompleted") return completed(payload.value);
  if (payload.case === "runFailed") return failed(payload.value);
  if (payload.case === "runCancelled") return cancelled(payload.value);
  throw new RangeError(`${payload.case ?? "an event with no payload"} does not end a run`);
}

function completed({ finalOutput, finalOutputTruncated, structuredOutput, usage }: RunCompleted): Outcome {
  const text = finalOutputTruncated ? shorten(finalOutput) : finalOutput;
  return { fields: { status: "completed", text, ...jsonOf("structured", structuredOutput) }, usage, cleanupError: [] };
}

function failed({ reason, message, partialOutput, cleanupError, usage }: RunFailed): Outcome {
  const code = CODE_OF[reason] ?? "execution_failed";
  const status = STOP_CODES.includes(code) ? "stopped" : "failed";
  const text = Buffer.byteLength(partialOutput) >= CUT_BYTES ? shorten(partialOutput) : partialOutput;
  return { fields: { status, text, reason: { code, message } }, usage, cleanupError: filled(cleanupError) };
}

function cancelled({ reason, cleanupError, usage }: RunCancelled): Outcome {
  const why: HarnessReason = { code: "cancelled", message: reason === "" ? "the run was cancelled" : reason };
  return { fields: { status: "cancelled", text: "", reason: why }, usage, cleanupError: filled(cleanupError) };
}

function filled(text: string): readonly string[] {
  return text === "" ? [] : [text];
}

/** Cuts a text to what the embedded API keeps, never within a code point. */
function shorten(text: string): string {
  if (text.length <= KEPT_CHARS) return text;
  const last = text.charCodeAt(KEPT_CHARS - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? KEPT_CHARS - 1 : KEPT_CHARS);
}
