import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { jsonOf, oneLine, shortJson } from "../words/json.js";
import { dropReasonText, inputModeText } from "../words/names.js";
import { plural } from "../words/quantity.js";
import { answerText, noteOf } from "./notes.js";

/** One line about an event, for a list of events. */
export function eventSummary(event: Event): string {
  const { payload } = event;
  switch (payload.case) {
    case "runQueued":
    case "runStarting":
    case "runStarted":
      return payload.value.providerId;
    case "outputTextDelta":
    case "outputTextDone":
    case "outputReasoningDelta":
      return oneLine(payload.value.text);
    case "toolCallStarted":
    case "toolCallUpdated":
      return toolText(payload.value);
    case "toolCallCompleted":
      return payload.value.error || toolText(payload.value) || shortJson(jsonOf(payload.value.output));
    case "planUpdated":
      return plural(payload.value.entries.length, "entry", "entries");
    case "artifactCreated":
      return payload.value.artifact?.name ?? "";
    default:
      return commandSummary(event);
  }
}

function commandSummary(event: Event): string {
  const { payload } = event;
  switch (payload.case) {
    case "actionRequired":
      return payload.value.action?.title ?? "";
    case "actionResponded":
      return answerText(payload.value);
    case "actionExpired":
      return "nobody answered in time";
    case "actionAbandoned":
      return payload.value.reason;
    case "inputAccepted":
      return inputModeText(payload.value.mode);
    case "inputConsumed":
      return `turn ${payload.value.turn}`;
    case "inputDropped":
      return dropReasonText(payload.value.reason);
    default: {
      const note = noteOf(event);
      return note === undefined ? "" : oneLine([note.text, note.detail].filter(Boolean).join(": "));
    }
  }
}

function toolText({ name, title }: { readonly name: string; readonly title: string }): string {
  return [name, title].filter((text) => text !== "").join(": ");
}
