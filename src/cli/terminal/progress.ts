import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import type { ToolCallCompleted } from "../../../gen/ts/harnessruntime/v1/tool_events_pb.js";
import { eventTypeOf } from "../../client/event-type.js";
import { summaryOf, valueText } from "./event-line.js";
import { oneLine, printable } from "./printable.js";
import { createScreen } from "./screen.js";
import { paint, type Style } from "./style.js";

/** Shows an execution as it goes: its text on standard output, everything else on standard error. */
export interface Progress {
  event(event: Event): void;
  /** Writes a line to standard error. */
  note(text: string): void;
  /** Says whether a question stands on standard error's last line. */
  question(stands: boolean): void;
  /** Ends what was written last. */
  end(): void;
}

type Payload = Event["payload"];
type Kind = NonNullable<Payload["case"]>;
type Views = { readonly [K in Kind]?: (value: Extract<Payload, { case: K }>["value"]) => void };

/** Kinds that are shown as one dim line: what they are, and what they say. */
const NOTED: ReadonlySet<Kind> = new Set<Kind>([
  "runResumed",
  "runCancelling",
  "planUpdated",
  "actionResponded",
  "actionExpired",
  "actionAbandoned",
  "inputDropped",
  "artifactCreated",
  "completionEvaluated",
  "providerEvent",
]);
const LONGEST = 120;

/** Makes the view of one execution. Kinds of events that say nothing to people are left out. */
export function createProgress(): Progress {
  const screen = createScreen();
  let turn = 0;
  let turnText = "";
  const enter = (next: number): void => {
    if (next <= turn) return;
    screen.end();
    if (turn > 0) screen.line(dim(`turn ${next}`));
    turn = next;
    turnText = "";
  };
  const views: Views = {
    outputTextDelta({ text }) {
      turnText += text;
      screen.write("stdout", text);
    },
    outputReasoningDelta: ({ text }) => screen.write("stderr", text, "dim"),
    toolCallStarted: ({ name, title, input }) =>
      screen.line(`→ ${oneLine(title || name, LONGEST)} ${short(valueText(input))}`.trimEnd()),
    toolCallCompleted: (call) => screen.line(completedLine(call)),
    runCompleted({ finalOutput, finalOutputTruncated }) {
      if (turnText === "") screen.write("stdout", finalOutput);
      else if (!finalOutputTruncated && finalOutput !== turnText)
        screen.line(`final output: ${printable(finalOutput)}`);
    },
  };
  return {
    event(event) {
      const { payload } = event;
      enter(event.turn);
      if (payload.case === undefined) return;
      const view = views[payload.case] as ((value: Payload["value"]) => void) | undefined;
      if (view !== undefined) view(payload.value);
      else if (NOTED.has(payload.case)) screen.line(dim(`${eventTypeOf(event)} ${summaryOf(payload)}`.trimEnd()));
    },
    note: screen.line,
    question: screen.question,
    end: screen.end,
  };
}

function completedLine({ name, title, toolCallId, denied, error, output }: ToolCallCompleted): string {
  const what = oneLine(title || name || toolCallId, LONGEST);
  if (denied) return colour("yellow", `✗ ${what} was denied${error === "" ? "" : `: ${oneLine(error, LONGEST)}`}`);
  if (error !== "") return colour("red", `✗ ${what}: ${oneLine(error, LONGEST)}`);
  return `${colour("green", "✓")} ${what} ${short(valueText(output))}`.trimEnd();
}

function short(text: string): string {
  return dim(oneLine(text, LONGEST));
}

function dim(text: string): string {
  return colour("dim", text);
}

function colour(style: Style, text: string): string {
  return paint(style, text, "stderr");
}
