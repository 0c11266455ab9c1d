import { type ReadonlySignal, useComputed } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";
import { ActionKind, type ActionRequest, ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { useCommands } from "../commands.js";
import { useListCursor } from "../list/cursor.js";
import { VirtualList } from "../list/virtual-list.js";
import { type ActionList, readClosedActions, watchPendingActions } from "../live/action-list.js";
import { notePendingActions } from "../live/server-state.js";
import { ActionCard, type ActionCardProps } from "../parts/action-card.js";
import { approve, deny } from "../parts/answers.js";
import { Icon } from "../parts/icon.js";
import { LinkBanner, LinkWord } from "../parts/link-state.js";
import { notify } from "../parts/notices.js";
import { Ago } from "../parts/times.js";
import { useTitle } from "../parts/title.js";
import { executionHref, hrefOf } from "../route.js";
import { actionStateName } from "../words/names.js";
import { useOpen } from "./use-open.js";

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
  const cursor = useListCursor(actions.length, "action");
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
    (action: ActionRequest, index: number) => (
      <WaitingCard action={action} onAnswered={onAnswered} index={index} current={cursor.index} />
    ),
    [onAnswered, cursor.index],
  );
  // With nothing chosen, the keys are about the first.
  const current = (): ActionRequest | undefined => actions[Math.max(0, cursor.index.peek())];
  const answer = (run: typeof approve) => (): void => {
    const action = current();
    if (action !== undefined) void run(action, onAnswered);
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
      keyOf={({ id }) => id}
      guess={() => 220}
      render={render}
      {...cursor.props}
    />
  );
}

/** An action and whether the keys are about it: about the first, where none was chosen. */
function WaitingCard({
  index,
  current,
  ...card
}: Pick<ActionCardProps, "action" | "onAnswered"> & {
  readonly index: number;
  readonly current: ReadonlySignal<number>;
}) {
  const isCurrent = useComputed(() => index === Math.max(0, current.value));
  return (
    <div class="waiting">
      <ActionCard {...card} withExecution current={isCurrent.value} />
    </div>
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
  const cursor = useListCursor(actions.length, "action");
  useCommands(cursor.commands);
  if (actions.length === 0) {
    return <p class="empty quiet">{list.synced.value ? "No action was ever closed." : "Loading…"}</p>;
  }
  return (
    <VirtualList
      label="Actions that are over"
      rows={actions}
      length={actions.length}
      keyOf={({ id }) => id}
      guess={() => 58}
      render={renderClosed}
      {...cursor.props}
    />
  );
}

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
