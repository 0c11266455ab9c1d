import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ActionRequest } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { type Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { isTerminal } from "../../client/cursor.js";
import { useCommands } from "../commands.js";
import { type FollowedExecution, followExecution } from "../live/followed-execution.js";
import { readPending } from "../live/server-state.js";
import { ActionBar } from "../parts/action-bar.js";
import { ActionCard, type ActionCardProps } from "../parts/action-card.js";
import { approve, deny } from "../parts/answers.js";
import { LinkBanner } from "../parts/link-state.js";
import { notify } from "../parts/notices.js";
import { useTitle } from "../parts/title.js";
import { type ExecutionTab, goTo } from "../route.js";
import { oneLine } from "../words/json.js";
import { stateName } from "../words/names.js";
import { count } from "../words/quantity.js";
import { cancelExecution } from "./cancel.js";
import { Composer } from "./composer.js";
import { EventsTab } from "./events-tab.js";
import { ExecutionDetails } from "./execution-details.js";
import { ExecutionHead } from "./execution-head.js";
import { answeredText } from "./inbox.js";
import { TimelineTab } from "./timeline-tab.js";
import { useOpen } from "./use-open.js";

export interface ExecutionViewProps {
  readonly id: string;
  readonly tab: ExecutionTab;
  /** The sequence to show first; 0 for none. */
  readonly sequence: number;
}

/** One execution: what it did, does and waits for, and what can be done about it. */
export function ExecutionView({ id, tab, sequence }: ExecutionViewProps) {
  const followed = useOpen(() => followExecution(id), id);
  const execution = followed.execution.value;
  const { action, onAnswered } = useOpenAction(followed);
  const composer = useRef<HTMLTextAreaElement>(null);
  const writing = useRef(false);
  // It is beside the timeline: where something else is shown, that comes first.
  useEffect(() => {
    if (tab !== "timeline" || !writing.current) return;
    writing.current = false;
    composer.current?.focus();
  }, [tab]);
  const write = (): void => {
    writing.current = tab !== "timeline";
    if (writing.current) show("timeline");
    else composer.current?.focus();
  };
  // The number of actions that wait is known to have changed.
  useEffect(() => void readPending(), [action?.id]);
  const show = (next: ExecutionTab, at = 0): void => goTo({ view: "execution", id, tab: next, sequence: at });
  useTitle(`${stateName(followed.state.value).text}: ${oneLine(execution?.input?.text ?? "", 60) || id}`);
  const answer = (run: typeof approve) => (): void => {
    if (action !== undefined) void run(action, onAnswered);
  };
  useCommands([
    { title: "Approve the open action", keys: "a", run: answer(approve) },
    { title: "Deny the open action", keys: "d", run: answer(deny) },
    { title: "Cancel this execution", keys: "c", run: () => void cancel(followed, execution) },
    { title: "Write to this execution", keys: "i", run: write },
    { title: "Show the timeline", keys: "1", run: () => show("timeline") },
    { title: "Show the events", keys: "2", run: () => show("events") },
    { title: "Show the details", keys: "3", run: () => show("details") },
  ]);
  return (
    <>
      <ExecutionHead followed={followed} tab={tab} onCancel={() => void cancel(followed, execution)} onShow={show} />
      <LinkBanner live={followed} lost={() => `Shown up to event ${count(followed.shownSequence.value)}.`} />
      <div class="execution-body">
        <div class="execution-main">
          {tab === "timeline" ? <TimelineTab followed={followed} sequence={sequence} /> : null}
          {tab === "events" ? <EventsTab followed={followed} sequence={sequence} /> : null}
          {tab === "details" ? <ExecutionDetails followed={followed} /> : null}
          {action === undefined ? null : (
            <OpenAction key={action.id} action={action} onAnswered={onAnswered} whole={tab === "timeline"} />
          )}
          {tab === "timeline" ? <Composer followed={followed} area={composer} /> : null}
        </div>
        {tab === "timeline" && execution !== undefined ? (
          <aside class="execution-side" aria-label="Details">
            <ExecutionDetails followed={followed} />
          </aside>
        ) : null}
      </div>
      <StateSpoken followed={followed} />
    </>
  );
}

/** The action that waits: all of it beside the timeline, a line beside what is looked at in detail. */
function OpenAction({
  whole,
  ...action
}: Pick<ActionCardProps, "action" | "onAnswered"> & { readonly whole: boolean }) {
  if (!whole) return <ActionBar {...action} />;
  return (
    <div class="open-action">
      <ActionCard {...action} current />
    </div>
  );
}

/** The action that waits now; one that was answered here is gone before the server says so. */
function useOpenAction(followed: FollowedExecution): {
  readonly action: ActionRequest | undefined;
  onAnswered(action: ActionRequest): void;
} {
  const answeredId = useSignal("");
  const action = useComputed(() => {
    const state = followed.state.value;
    const waits = state === ExecutionState.AWAITING_APPROVAL || state === ExecutionState.AWAITING_INPUT;
    const [open] = waits ? (followed.execution.value?.openActions ?? []) : [];
    return open?.id === answeredId.value ? undefined : open;
  });
  return {
    action: action.value,
    onAnswered(answered) {
      answeredId.value = answered.id;
      notify(answeredText(answered));
    },
  };
}

async function cancel(followed: FollowedExecution, execution: Execution | undefined): Promise<void> {
  if (execution === undefined) return;
  followed.take(await cancelExecution({ ...execution, state: followed.state.peek() }));
}

/** Says a new state aloud, and nothing of the text that streams. */
function StateSpoken({ followed }: { readonly followed: FollowedExecution }) {
  const state = followed.state.value;
  const action = isTerminal(state) ? "" : (followed.execution.value?.openActions[0]?.title ?? "");
  return (
    <p class="sr-only" role="status">
      {stateName(state).text}
      {action === "" ? "" : `: ${action}`}
    </p>
  );
}
