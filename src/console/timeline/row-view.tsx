import { ActionKind, ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { FollowedExecution } from "../live/followed-execution.js";
import { ArtifactLine } from "../parts/artifact-line.js";
import { Icon, type IconName } from "../parts/icon.js";
import { notifyError } from "../parts/notices.js";
import { PlanEntries } from "../parts/plan-entries.js";
import { executionHref } from "../route.js";
import { sentText } from "../sent-inputs.js";
import { client } from "../session.js";
import { actionStateName, dropReasonText, inputModeText } from "../words/names.js";
import {
  type ActionRow,
  type InputRow,
  type NoteRow,
  type PlanRow,
  readRow,
  type TextRow,
  type TimelineRow,
  type TurnRow,
} from "./row.js";
import { ToolRowView } from "./tool-row-view.js";

export interface TimelineRowProps<Row extends TimelineRow = TimelineRow> {
  readonly row: Row;
  readonly followed: FollowedExecution;
}

/** One row of a timeline. Only it is drawn anew when it changes. */
export function TimelineRowView({ row, followed }: TimelineRowProps) {
  const superseded = followed.timeline.supersededTurns.value.has(row.turn) && row.kind !== "turn";
  const continues = (row.kind === "text" || row.kind === "reasoning") && row.continues;
  return (
    <div class={`row row-${row.kind} ${superseded ? "superseded" : ""} ${continues ? "continues" : ""}`}>
      <Body row={row} followed={followed} />
      <a
        class="sequence-link"
        href={executionHref(followed.executionId, "events", row.sequence)}
        aria-label={`Event ${row.sequence}`}
        title={`Event ${row.sequence}`}
      >
        {row.sequence}
      </a>
    </div>
  );
}

function Body({ row, followed }: TimelineRowProps) {
  switch (row.kind) {
    case "text":
    case "reasoning":
      return <TextBody row={row} />;
    case "tool":
      return <ToolRowView row={row} />;
    case "plan":
      return <PlanBody row={row} />;
    case "action":
      return <ActionBody row={row} />;
    case "input":
      return <InputBody row={row} followed={followed} />;
    case "turn":
      return <TurnBody row={row} followed={followed} />;
    case "artifact":
      return <ArtifactLine artifact={row.artifact} />;
    default:
      return <NoteBody row={row} />;
  }
}

function TextBody({ row }: { readonly row: TextRow }) {
  const { kind, continues, text } = readRow(row);
  return (
    <>
      {kind === "reasoning" && !continues ? <span class="kicker">Reasoning</span> : null}
      <p class="prose" dir="auto">
        {text}
      </p>
    </>
  );
}

function PlanBody({ row }: { readonly row: PlanRow }) {
  return <PlanEntries entries={readRow(row).entries} />;
}

function ActionBody({ row }: { readonly row: ActionRow }) {
  const { action, state, outcome } = readRow(row);
  const pending = state === ActionState.PENDING;
  return (
    <>
      <span class={`figure ${pending ? "tone-attention" : ""}`}>
        <Icon name={pending ? "bang" : "user"} />
      </span>
      <span class="what" dir="auto">
        {action.title || (action.kind === ActionKind.INPUT ? "Input" : "Approval")}
      </span>
      <span class={`outcome ${outcomeClass(outcome, state)}`}>
        {pending ? "waiting" : outcome || actionStateName(state)}
      </span>
    </>
  );
}

function outcomeClass(outcome: string, state: ActionState): string {
  if (state === ActionState.PENDING) return "attention";
  if (outcome.startsWith("approved")) return "good";
  return outcome.startsWith("denied") ? "bad" : "";
}

function InputBody({ row, followed }: { readonly row: InputRow; readonly followed: FollowedExecution }) {
  const { inputId, mode, state, dropReason } = readRow(row);
  const first = mode === InputMode.UNSPECIFIED;
  const text = first ? (followed.execution.value?.input?.text ?? "") : sentText(inputId);
  return (
    <>
      <span class="figure">
        <Icon name="user" />
      </span>
      <div class="said">
        {first ? null : <span class="kicker">{inputModeText(mode)}</span>}
        {text === "" && !first ? (
          <span class="hint">Its text is kept by whoever sent it; the log has its digest.</span>
        ) : (
          <p class="prose" dir="auto">
            {text}
          </p>
        )}
        {state === "dropped" ? <span class="outcome">{dropReasonText(dropReason)}</span> : null}
        {state === "waiting" ? <Waiting inputId={inputId} followed={followed} /> : null}
      </div>
    </>
  );
}

/** An input that nobody has taken yet can be taken back. */
function Waiting({ inputId, followed }: { readonly inputId: string; readonly followed: FollowedExecution }) {
  const withdraw = async (): Promise<void> => {
    try {
      const { executionId } = followed;
      followed.take((await client.executions.withdrawInput({ executionId, inputId })).execution);
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <>
      <span class="outcome">waiting</span>
      <button type="button" class="quiet withdraw" onClick={() => void withdraw()}>
        Withdraw
      </button>
    </>
  );
}

function TurnBody({ row, followed }: { readonly row: TurnRow; readonly followed: FollowedExecution }) {
  const before = followed.timeline.supersededTurns.value.has(row.turn - 1);
  return (
    <h2>
      Turn {row.turn}
      {row.because === "" ? "" : ` · ${row.because}`}
      {before ? ` · turn ${row.turn - 1} no longer counts` : ""}
    </h2>
  );
}

const NOTE_ICONS: Readonly<Record<NoteRow["tone"], IconName | undefined>> = {
  quiet: undefined,
  good: "check",
  bad: "cross",
  attention: "bang",
};

function NoteBody({ row: { tone, text, detail } }: { readonly row: NoteRow }) {
  const icon = NOTE_ICONS[tone];
  return (
    <div class={`note ${tone}`}>
      {icon === undefined ? null : (
        <span class="figure">
          <Icon name={icon} />
        </span>
      )}
      <span dir="auto">{text}</span>
      {detail === "" ? null : (
        <span class="detail" dir="auto">
          {detail}
        </span>
      )}
    </div>
  );
}
