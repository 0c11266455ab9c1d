import type { JsonValue } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type Signal, signal } from "@preact/signals";
import type { ActionRequest, ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Artifact } from "../../../gen/ts/harnessruntime/v1/artifact_pb.js";
import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import type { InputDropReason, InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { PlanEntry } from "../../../gen/ts/harnessruntime/v1/output_events_pb.js";

/** What every row of a timeline has. Rows are changed in place; `revision` tells who shows them. */
export interface RowBase {
  /** The sequence of the event that it began with: rows are in its order. */
  readonly sequence: number;
  readonly time: Timestamp | undefined;
  readonly turn: number;
  readonly revision: Signal<number>;
}

/** A piece of output or reasoning. Long ones are cut into several rows, so that each is cheap to lay out. */
export interface TextRow extends RowBase {
  readonly kind: "text" | "reasoning";
  readonly itemId: string;
  /** Whether it goes on from the row before. */
  readonly continues: boolean;
  text: string;
}

/** A tool call, from its start to its end. */
export interface ToolRow extends RowBase {
  readonly kind: "tool";
  readonly toolCallId: string;
  name: string;
  toolKind: string;
  title: string;
  input: JsonValue | undefined;
  output: JsonValue | undefined;
  state: "running" | "done" | "failed" | "denied";
  error: string;
  /** Whether its input and output are shown. */
  readonly open: Signal<boolean>;
}

/** The plan of a turn, as it stood last. */
export interface PlanRow extends RowBase {
  readonly kind: "plan";
  entries: readonly PlanEntry[];
}

/** An action and what became of it. */
export interface ActionRow extends RowBase {
  readonly kind: "action";
  readonly action: ActionRequest;
  state: ActionState;
  /** What was answered, or why nobody answered, in a few words. */
  outcome: string;
}

/** An input: the first one, or one that was sent later. Its text is in no log. */
export interface InputRow extends RowBase {
  readonly kind: "input";
  /** Empty for the first input. */
  readonly inputId: string;
  readonly mode: InputMode;
  state: "waiting" | "consumed" | "dropped";
  dropReason: InputDropReason | undefined;
}

/** Where a further turn begins. */
export interface TurnRow extends RowBase {
  readonly kind: "turn";
  /** Why, in a few words; may be empty. */
  readonly because: string;
}

/** An artifact. */
export interface ArtifactRow extends RowBase {
  readonly kind: "artifact";
  readonly artifact: Artifact;
}

/** What one event says in a line: a change of state, a model call, a verdict, or something of the provider's own. */
export interface NoteRow extends RowBase {
  readonly kind: "note";
  readonly tone: "quiet" | "good" | "bad" | "attention";
  readonly text: string;
  /** More, in the provider's or the runtime's words; may be empty. */
  readonly detail: string;
}

export type TimelineRow = TextRow | ToolRow | PlanRow | ActionRow | InputRow | TurnRow | ArtifactRow | NoteRow;

/** What a row has of the event that it begins with. */
export function rowBase({ sequence, time, turn }: Event): RowBase {
  return { sequence, time, turn, revision: signal(0) };
}

/** A row, read by a component that is drawn again whenever the row changes: the object itself stays the same. */
export function readRow<Row extends TimelineRow>(row: Row): Row {
  void row.revision.value;
  return row;
}

/** Tells who shows a row that it changed. */
export function touch(row: TimelineRow): void {
  row.revision.value++;
}
