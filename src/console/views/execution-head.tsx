import { useState } from "preact/hooks";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { isTerminal } from "../../client/cursor.js";
import { grpcurl } from "../grpcurl.js";
import type { FollowedExecution } from "../live/followed-execution.js";
import { CopyButton } from "../parts/copy-button.js";
import { Icon } from "../parts/icon.js";
import { LinkWord } from "../parts/link-state.js";
import { StateBadge } from "../parts/state-badge.js";
import { Elapsed } from "../parts/times.js";
import { EXECUTION_TABS, type ExecutionTab, executionHref, hrefOf, NO_FILTER } from "../route.js";
import { oneLine } from "../words/json.js";
import { count, plural } from "../words/quantity.js";
import { canCancel } from "./cancel.js";

const TAB_NAMES: Readonly<Record<ExecutionTab, string>> = {
  timeline: "Timeline",
  events: "Events",
  details: "Details",
};

export interface ExecutionHeadProps {
  readonly followed: FollowedExecution;
  readonly tab: ExecutionTab;
  onCancel(): void;
  onShow(tab: ExecutionTab, sequence: number): void;
}

/** What an execution is and where it stands, with its ways to be looked at. */
export function ExecutionHead({ followed, tab, onCancel, onShow }: ExecutionHeadProps) {
  const { executionId } = followed;
  const execution = followed.execution.value;
  const state = followed.state.value || (execution?.state ?? ExecutionState.UNSPECIFIED);
  return (
    <header class="execution-head">
      <div class="title-line">
        <a class="back" href={hrefOf({ view: "executions", filter: NO_FILTER })} aria-label="All executions">
          <Icon name="chevron" />
        </a>
        <h1 dir="auto">{oneLine(execution?.input?.text ?? "", 140) || executionId}</h1>
        {canCancel(state) ? (
          <button type="button" class="danger-quiet" onClick={onCancel}>
            Cancel
          </button>
        ) : null}
      </div>
      <div class="meta-line">
        {state === ExecutionState.UNSPECIFIED ? null : <StateBadge state={state} />}
        {execution === undefined ? null : <span>{execution.providerId}</span>}
        <span class="id">
          <code>{executionId}</code>
          <CopyButton what="the id" text={() => executionId} />
        </span>
        <Elapsed from={execution?.startTime} to={isTerminal(state) ? execution?.endTime : undefined} />
        <LinkWord live={followed} />
      </div>
      <div class="tab-line">
        <nav class="tabs" aria-label="Ways to look at it">
          {EXECUTION_TABS.map((name) => (
            <a key={name} href={executionHref(executionId, name)} aria-current={tab === name ? "page" : undefined}>
              {TAB_NAMES[name]}
            </a>
          ))}
        </nav>
        <Progress followed={followed} />
        {tab === "details" ? null : <Jump followed={followed} onJump={(sequence) => onShow(tab, sequence)} />}
        <CopyButton
          label="grpcurl"
          what="the grpcurl command that watches it"
          text={() => grpcurl(ExecutionService.method.watchEvents, { executionId })}
        />
      </div>
    </header>
  );
}

/** How much of the log is shown. */
function Progress({ followed }: { readonly followed: FollowedExecution }) {
  const shown = followed.shownSequence.value;
  const head = followed.headSequence.value;
  const first = followed.firstSequence.value;
  return (
    <span class="progress" data-shown={shown} data-head={head}>
      {shown < head ? `${count(shown)} of ${plural(head, "event")}` : plural(head, "event")}
      {first > 1 ? `, kept from ${count(first)} on` : ""}
    </span>
  );
}

/** Goes to an event by its sequence. */
function Jump({ followed, onJump }: { readonly followed: FollowedExecution; onJump(sequence: number): void }) {
  const [text, setText] = useState("");
  return (
    <form
      class="jump"
      onSubmit={(event) => {
        event.preventDefault();
        const sequence = Number.parseInt(text, 10);
        if (sequence > 0) onJump(Math.min(sequence, followed.headSequence.value));
        setText("");
      }}
    >
      <input
        type="number"
        min={1}
        max={Math.max(1, followed.headSequence.value)}
        aria-label="Go to an event by its sequence"
        placeholder="Go to #"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}
