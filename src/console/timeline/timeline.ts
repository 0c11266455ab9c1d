import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Artifact } from "../../../gen/ts/harnessruntime/v1/artifact_pb.js";
import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { PlanEntry } from "../../../gen/ts/harnessruntime/v1/output_events_pb.js";
import type { ToolCallUpdated } from "../../../gen/ts/harnessruntime/v1/tool_events_pb.js";
import { jsonOf } from "../words/json.js";
import { inputModeText } from "../words/names.js";
import { answerText, noteOf } from "./notes.js";
import { type ActionRow, type InputRow, type PlanRow, rowBase, type TimelineRow, type ToolRow, touch } from "./row.js";
import { appendText } from "./text-rows.js";

/** A log as people read it: events that belong together are one row. */
export interface Timeline {
  /** In order of their first event. Grows and changes in place. */
  readonly rows: readonly TimelineRow[];
  /** How many rows there are. */
  readonly length: ReadonlySignal<number>;
  /** The last plan. */
  readonly plan: ReadonlySignal<readonly PlanEntry[]>;
  readonly artifacts: ReadonlySignal<readonly Artifact[]>;
  /** The turns whose text no longer counts. */
  readonly supersededTurns: ReadonlySignal<ReadonlySet<number>>;
  /** Takes the next events, in order and each once, in pieces of any size. */
  take(events: readonly Event[]): void;
}

/** What the fold keeps between two events. */
interface Fold {
  readonly rows: TimelineRow[];
  readonly tools: Map<string, ToolRow>;
  readonly actions: Map<string, ActionRow>;
  readonly inputs: Map<string, InputRow>;
  plan: PlanRow | undefined;
  turn: number;
  readonly shown: {
    readonly plan: Signal<readonly PlanEntry[]>;
    readonly artifacts: Signal<readonly Artifact[]>;
    readonly supersededTurns: Signal<ReadonlySet<number>>;
  };
}

export function createTimeline(): Timeline {
  const length = signal(0);
  const shown = {
    plan: signal<readonly PlanEntry[]>([]),
    artifacts: signal<readonly Artifact[]>([]),
    supersededTurns: signal<ReadonlySet<number>>(new Set()),
  };
  const rows: TimelineRow[] = [];
  const fold: Fold = {
    rows,
    tools: new Map(),
    actions: new Map(),
    inputs: new Map(),
    plan: undefined,
    turn: 1,
    shown,
  };
  return {
    rows,
    length,
    ...shown,
    take(events) {
      for (const event of events) takeEvent(fold, event);
      length.value = rows.length;
    },
  };
}

type Payload = NonNullable<Event["payload"]>;
type Case = NonNullable<Payload["case"]>;
type ValueOf<C extends Case> = Extract<Payload, { case: C }>["value"];

/** What each kind of event does to the rows. A kind that is not listed is at most a note. */
const TAKE: { readonly [C in Case]?: (fold: Fold, event: Event, value: ValueOf<C>) => void } = {
  outputTextDelta: ({ rows }, event, delta) => appendText(rows, event, "text", delta),
  outputReasoningDelta: ({ rows }, event, delta) => appendText(rows, event, "reasoning", delta),
  outputTextDone: takeFinalText,
  toolCallStarted: (fold, event, call) => {
    if (isOver(fold.tools.get(call.toolCallId), event)) startTool(fold, event, call.toolCallId);
    takeTool(fold, event, call);
  },
  toolCallUpdated: (fold, event, call) => takeTool(fold, event, call),
  toolCallCompleted: (fold, event, call) =>
    takeTool(fold, event, call, { state: toolEnd(call.denied, call.error), error: call.error }),
  planUpdated: takePlan,
  artifactCreated: takeArtifact,
  runQueued: (fold, event) => startInput(fold, event, "", InputMode.UNSPECIFIED, "consumed"),
  inputAccepted: (fold, event, { inputId, mode }) => startInput(fold, event, inputId, mode, "waiting"),
  inputConsumed: consumeInput,
  inputDropped: (fold, _, { inputId, reason }) => changeInput(fold, inputId, { state: "dropped", dropReason: reason }),
  actionRequired: startAction,
  actionResponded: (fold, _, answer) => endAction(fold, answer.actionId, ActionState.RESPONDED, answerText(answer)),
  actionExpired: (fold, _, { actionId }) => endAction(fold, actionId, ActionState.EXPIRED, "nobody answered in time"),
  actionAbandoned: (fold, _, { actionId, reason }) => endAction(fold, actionId, ActionState.ABANDONED, reason),
};

function takeEvent(fold: Fold, event: Event): void {
  if (event.turn > fold.turn) startTurn(fold, event);
  const { payload } = event;
  // The table's own type ties each function to its kind's value.
  const take = payload.case && (TAKE[payload.case] as ((fold: Fold, event: Event, value: unknown) => void) | undefined);
  if (take !== undefined) take(fold, event, payload.value);
  else {
    const note = noteOf(event);
    if (note !== undefined) fold.rows.push({ ...rowBase(event), kind: "note", ...note });
  }
}

/** Any event of a turn that was not seen yet begins it, and says why. */
function startTurn(fold: Fold, event: Event): void {
  fold.turn = event.turn;
  fold.rows.push({ ...rowBase(event), kind: "turn", because: turnReason(fold, event) });
}

function turnReason(fold: Fold, { payload }: Event): string {
  switch (payload.case) {
    case "inputConsumed": {
      const input = fold.inputs.get(payload.value.inputId);
      return input === undefined ? "" : inputModeText(input.mode);
    }
    case "completionEvaluated":
      return "revision";
    case "actionResponded":
      return "answer";
    default:
      return "";
  }
}

/** The runtime's own end of the output: shown only where no delta of the turn has shown it. */
function takeFinalText(fold: Fold, event: Event, done: { readonly text: string; readonly itemId: string }): void {
  if (done.itemId !== "" || done.text === "") return;
  const seen = fold.rows.some(({ kind, turn }) => kind === "text" && turn === event.turn);
  if (!seen) appendText(fold.rows, event, "text", done);
}

function toolEnd(denied: boolean, error: string): ToolRow["state"] {
  if (denied) return "denied";
  return error === "" ? "done" : "failed";
}

type ToolFields = Pick<ToolCallUpdated, "toolCallId" | "name" | "kind" | "title" | "input"> &
  Partial<Pick<ToolCallUpdated, "output">>;

/** What is empty or unset did not change. */
function takeTool(fold: Fold, event: Event, fields: ToolFields, end?: Pick<ToolRow, "state" | "error">): void {
  const row = fold.tools.get(fields.toolCallId) ?? startTool(fold, event, fields.toolCallId);
  row.name = fields.name || row.name;
  row.toolKind = fields.kind || row.toolKind;
  row.title = fields.title || row.title;
  row.input = jsonOf(fields.input) ?? row.input;
  row.output = jsonOf(fields.output) ?? row.output;
  if (end !== undefined) Object.assign(row, end);
  touch(row);
}

/** Whether a tool call that starts is another one than that which had its ID before. */
function isOver(before: ToolRow | undefined, { turn }: Event): boolean {
  return before !== undefined && (before.state !== "running" || before.turn !== turn);
}

function startTool(fold: Fold, event: Event, toolCallId: string): ToolRow {
  const row: ToolRow = {
    ...rowBase(event),
    kind: "tool",
    toolCallId,
    name: "",
    toolKind: "",
    title: "",
    input: undefined,
    output: undefined,
    state: "running",
    error: "",
    open: signal(false),
  };
  fold.tools.set(toolCallId, row);
  fold.rows.push(row);
  return row;
}

function takePlan(fold: Fold, event: Event, { entries }: { readonly entries: readonly PlanEntry[] }): void {
  fold.shown.plan.value = entries;
  if (fold.plan?.turn === event.turn) {
    fold.plan.entries = entries;
    touch(fold.plan);
    return;
  }
  fold.plan = { ...rowBase(event), kind: "plan", entries };
  fold.rows.push(fold.plan);
}

function takeArtifact(fold: Fold, event: Event, { artifact }: { readonly artifact?: Artifact | undefined }): void {
  if (artifact === undefined) return;
  fold.rows.push({ ...rowBase(event), kind: "artifact", artifact });
  fold.shown.artifacts.value = [...fold.shown.artifacts.value, artifact];
}

function startInput(fold: Fold, event: Event, inputId: string, mode: InputMode, state: InputRow["state"]): void {
  const row: InputRow = { ...rowBase(event), kind: "input", inputId, mode, state, dropReason: undefined };
  fold.inputs.set(inputId, row);
  fold.rows.push(row);
}

function consumeInput(
  fold: Fold,
  _: Event,
  { inputId, supersededTurn }: { readonly inputId: string; readonly supersededTurn: number },
): void {
  changeInput(fold, inputId, { state: "consumed" });
  const { supersededTurns } = fold.shown;
  if (supersededTurn > 0) supersededTurns.value = new Set([...supersededTurns.value, supersededTurn]);
}

function changeInput(fold: Fold, inputId: string, change: Partial<Pick<InputRow, "state" | "dropReason">>): void {
  const row = fold.inputs.get(inputId);
  if (row === undefined) return;
  Object.assign(row, change);
  touch(row);
}

function startAction(
  fold: Fold,
  event: Event,
  { action }: { readonly action?: ActionRow["action"] | undefined },
): void {
  if (action === undefined) return;
  const row: ActionRow = { ...rowBase(event), kind: "action", action, state: ActionState.PENDING, outcome: "" };
  fold.actions.set(action.id, row);
  fold.rows.push(row);
}

function endAction(fold: Fold, actionId: string, state: ActionState, outcome: string): void {
  const row = fold.actions.get(actionId);
  if (row === undefined) return;
  row.state = state;
  row.outcome = outcome;
  touch(row);
}
