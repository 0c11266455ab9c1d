import type { ActionResponded } from "../../../gen/ts/harnessruntime/v1/action_events_pb.js";
import type { ContainmentReport } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import type { ModelCompleted } from "../../../gen/ts/harnessruntime/v1/output_events_pb.js";
import { CompletionAction, type CompletionEvaluated } from "../../../gen/ts/harnessruntime/v1/result_events_pb.js";
import type { RunCancelled, RunCancelling, RunFailed } from "../../../gen/ts/harnessruntime/v1/run_events_pb.js";
import { jsonOf, shortJson } from "../words/json.js";
import { failureName } from "../words/names.js";
import { plural, shortCount } from "../words/quantity.js";
import type { NoteRow } from "./row.js";

/** What a timeline says in one line of an event. */
export type Note = Pick<NoteRow, "tone" | "text" | "detail">;

/** The note of an event; undefined for what goes without saying. */
export function noteOf({ payload }: Event): Note | undefined {
  switch (payload.case) {
    case "runResumed": {
      const { previousFailure, attempt: next } = payload.value;
      return { tone: "attention", text: `Resumed, attempt ${next}`, detail: previousFailure?.message ?? "" };
    }
    case "runCancelling":
      return { tone: "attention", text: cancelText(payload.value), detail: payload.value.reason };
    case "runCompleted":
      return { tone: "good", text: "Succeeded", detail: structuredText(payload.value.structuredOutput) };
    case "runFailed":
      return failedNote(payload.value);
    case "runCancelled":
      return cancelledNote(payload.value);
    case "modelCompleted":
      return quiet(modelText(payload.value));
    case "completionEvaluated":
      return verdictNote(payload.value);
    case "providerEvent":
      return quiet(payload.value.type, shortJson(payload.value.data, 400));
    default:
      return undefined;
  }
}

/** What was answered, as far as the log says. */
export function answerText({ approved, optionId, responder, value }: ActionResponded): string {
  const by = responder?.userId === undefined || responder.userId === "" ? "" : ` by ${responder.userId}`;
  const answer = jsonOf(value);
  if (approved === undefined) return `answered${by}${answer === undefined ? "" : `: ${shortJson(answer)}`}`;
  return `${approved ? "approved" : "denied"}${optionId === "" ? "" : ` (${optionId})`}${by}`;
}

function quiet(text: string, detail = ""): Note {
  return { tone: "quiet", text, detail };
}

function cancelText({ principal }: RunCancelling): string {
  return principal?.userId ? `Cancel asked for by ${principal.userId}` : "Cancel asked for";
}

function structuredText(value: Parameters<typeof jsonOf>[0]): string {
  const json = jsonOf(value);
  return json === undefined ? "" : shortJson(json, 2_000);
}

function failedNote({ reason, message, cleanupError, containment }: RunFailed): Note {
  const detail = [message, cleanupError, escapedText(containment)].filter((text) => text !== "").join("\n");
  return { tone: "bad", text: failureName(reason), detail };
}

function cancelledNote({ reason, cleanupError, containment }: RunCancelled): Note {
  const detail = [reason, cleanupError, escapedText(containment)].filter((text) => text !== "").join("\n");
  return { tone: "attention", text: "Cancelled", detail };
}

function escapedText(containment: ContainmentReport | undefined): string {
  const escaped = containment?.escaped ?? [];
  return escaped.length === 0 ? "" : `Still running: ${escaped.join(", ")}`;
}

function modelText({ provider, model, usage }: ModelCompleted): string {
  const name = [provider, model].filter((part) => part !== "").join(" / ");
  const tokens = usage?.totalTokens ?? 0;
  return [name || "Model call", tokens > 0 ? `${shortCount(tokens)} tokens` : ""].filter(Boolean).join(" · ");
}

function verdictNote({ action, reason, revision }: CompletionEvaluated): Note {
  const words: Readonly<Record<CompletionAction, string>> = {
    [CompletionAction.UNSPECIFIED]: "judged",
    [CompletionAction.ACCEPT]: "accepted",
    [CompletionAction.REVISE]: "to be revised",
    [CompletionAction.STOP]: "stopped",
    [CompletionAction.AWAIT_INPUT]: "more is needed",
  };
  const after = revision > 0 ? ` after ${plural(revision, "revision")}` : "";
  return { tone: "quiet", text: `Result ${words[action] ?? "judged"}${after}`, detail: reason };
}
