import { useCallback, useEffect, useRef } from "preact/hooks";
import { ActionKind, type ActionRequest, ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { useCommands } from "../commands.js";
import { useListCursor } from "../list/cursor.js";
import { VirtualList } from "../list/virtual-list.js";
import { type ActionList, readClosedActions, watchPendingActions } from "../live/action-list.js";
import { notePendingActions } from "../live/server-state.js";
import { ActionCard } from "../parts/action-card.js";
import { approve, deny } from "../parts/answers.js";
import { Icon } from "../parts/icon.js";
import { LinkBanner, LinkWord } from "../parts/link-state.js";
import { notify } from "../parts/notices.js";
import { Ago } from "../parts/times.js";
import { useTitle } from "../parts/title.js";
import { executionHref, hrefOf } from "../route.js";
import { actionStateName } from "../words/names.js";
import { useOpen } from "./use-open.js";

/** So long after another action became the current one by itself, no key approves it. */
const SETTLE_MS = 500;

/** Every action that waits for somebody, over all executions; or those that are over. */
export function InboxView({ closed }: { readonly closed: boolean }) {
  useTitle("Inbox");
  const list = useOpen(closed ? readClosedActions : watchPendingActions, String(closed));
  return (
    <>
      <header class="view-head">
        <h1>Inbox</h1>
        {closed ? null : <LinkWord live={list} />}
        <div class="segments end" role="group" aria-label="Show">
          <a href={hrefOf({ view: "inbox", closed: false })} aria-current={closed ? undefined : "true"}>
            Waiting
          </a>
          <a href={hrefOf({ view: "inbox", closed: true })} aria-current={closed ? "true" : undefined}>
            Closed
          </a>
        </div>
      </header>
      <LinkBanner live={list} />
      {closed ? <Closed list={list} /> : <Waiting list={list} />}
    </>
  );
}

function Waiting({ list }: { readonly list: ActionList }) {
  const actions = list.actions.value;
  const cursor = useListCursor({ rows: actions, keyOf: idOf, what: "action" });
  // With nothing chosen, the keys are about the first; about the one in its place, where what was chosen is gone.
  const chosen = cursor.row();
  const current = chosen ?? actions[Math.max(0, Math.min(cursor.index(), actions.length - 1))];
  const currentId = current?.id;
  const became = useRef({ id: currentId, timeMs: 0 });
  if (became.current.id !== currentId) became.current = { id: currentId, timeMs: performance.now() };
  const synced = list.synced.value;
  useEffect(() => {
    if (synced) notePendingActions(actions.length);
  }, [synced, actions.length]);
  const onAnswered = useCallback(
    (action: ActionRequest): void => {
      list.take(action);
      notify(answeredText(action));
    },
    [list],
  );
  const render = useCallback(
    (action: ActionRequest) => (
      <div class="waiting">
        <ActionCard action={action} onAnswered={onAnswered} withExecution current={action.id === currentId} />
      </div>
    ),
    [onAnswered, currentId],
  );
  const answer = (run: typeof approve) => (): void => {
    // A key that was on its way to another action is not for the one that came in its place.
    const isNew = chosen === undefined && performance.now() - became.current.timeMs < SETTLE_MS;
    if (current !== undefined && !(isNew && run === approve)) void run(current, onAnswered);
  };
  useCommands([
    ...cursor.commands,
    { title: "Approve the selected action", keys: "a", run: answer(approve) },
    { title: "Deny the selected action", keys: "d", run: answer(deny) },
  ]);
  if (actions.length === 0) return <NothingWaits synced={synced} />;
  return (
    <VirtualList
      label="Actions that wait"
      rows={actions}
      length={actions.length}
      guess={() => 220}
      render={render}
      {...cursor.props}
    />
  );
}

function NothingWaits({ synced }: { readonly synced: boolean }) {
  return synced ? (
    <div class="empty">
      <Icon name="check" />
      <p>Nothing waits for you.</p>
    </div>
  ) : (
    <p class="empty quiet">Loading…</p>
  );
}

/** What became of an action that was answered here. */
export function answeredText({ approved, title }: ActionRequest): string {
  const what = approved === undefined ? "Answered" : approved ? "Approved" : "Denied";
  return title === "" ? what : `${what}: ${title}`;
}

function Closed({ list }: { readonly list: ActionList }) {
  const actions = list.actions.value;
  const cursor = useListCursor({ rows: actions, keyOf: idOf, what: "action" });
  useCommands(cursor.commands);
  if (actions.length === 0) {
    return <p class="empty quiet">{list.synced.value ? "No action was ever closed." : "Loading…"}</p>;
  }
  return (
    <VirtualList
      label="Actions that are over"
      rows={actions}
      length={actions.length}
      guess={() => 58}
      render={renderClosed}
      {...cursor.props}
    />
  );
}

const idOf = ({ id }: ActionRequest): string => id;
const renderClosed = (action: ActionRequest) => <ClosedRow action={action} />;

function ClosedRow({ action }: { readonly action: ActionRequest }) {
  const { executionId, kind, title, responder, respondTime, createTime } = action;
  return (
    <a class="closed-row" href={executionHref(executionId)} data-row-focus>
      <span class={`verdict ${verdictClass(action)}`}>{verdict(action)}</span>
      <span class="what" dir="auto">
        {title || (kind === ActionKind.INPUT ? "Input" : "Approval")}
      </span>
      <span class="who">{responder?.userId}</span>
      <Ago time={respondTime ?? createTime} />
    </a>
  );
}

function verdict({ state, approved, optionId }: ActionRequest): string {
  if (state !== ActionState.RESPONDED || approved === undefined) return actionStateName(state);
  return `${approved ? "Approved" : "Denied"}${optionId === "" ? "" : ` (${optionId})`}`;
}

function verdictClass({ state, approved }: ActionRequest): string {
  if (state !== ActionState.RESPONDED) return "stopped";
  return approved === false ? "bad" : "good";
}
