import { useRef } from "preact/hooks";
import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { useCommands } from "../commands.js";
import { useListCursor } from "../list/cursor.js";
import { VirtualList } from "../list/virtual-list.js";
import { type ExecutionList, watchExecutionList } from "../live/execution-list.js";
import { approve, deny } from "../parts/answers.js";
import { Icon } from "../parts/icon.js";
import { LinkBanner, LinkWord } from "../parts/link-state.js";
import { notify, notifyError } from "../parts/notices.js";
import { StateBadge } from "../parts/state-badge.js";
import { Ago, Elapsed } from "../parts/times.js";
import { useTitle } from "../parts/title.js";
import { type ExecutionFilter, executionHref, hrefOf, NO_FILTER } from "../route.js";
import { oneLine } from "../words/json.js";
import { failureName } from "../words/names.js";
import { canCancel, cancelExecution } from "./cancel.js";
import { FilterBar } from "./filter-bar.js";
import { answeredText } from "./inbox.js";
import { useOpen } from "./use-open.js";

const ROW_HEIGHT = 57;

/** All executions that match a filter, as they change. */
export function ExecutionsView({ filter }: { readonly filter: ExecutionFilter }) {
  useTitle("Executions");
  const list = useOpen(() => watchExecutionList(filter), JSON.stringify(filter));
  const executions = list.executions.value;
  const cursor = useListCursor({ rows: executions, keyOf: idOf, what: "execution" });
  const search = useRef<HTMLInputElement>(null);
  const withCurrent = (run: (execution: Execution) => unknown) => (): void => {
    const execution = cursor.row();
    if (execution !== undefined) void run(execution);
  };
  const withAction = (answer: typeof approve) =>
    withCurrent(({ openActions: [action] }) =>
      action === undefined ? undefined : answer(action, (answered) => notify(answeredText(answered))),
    );
  useCommands([
    ...cursor.commands,
    { title: "Filter by label", keys: "/", run: () => search.current?.focus() },
    { title: "Approve the selected execution's action", keys: "a", run: withAction(approve) },
    { title: "Deny the selected execution's action", keys: "d", run: withAction(deny) },
    { title: "Cancel the selected execution", keys: "c", run: withCurrent(cancelExecution) },
  ]);
  return (
    <>
      <header class="view-head">
        <h1>Executions</h1>
        <LinkWord live={list} />
      </header>
      <FilterBar filter={filter} search={search} />
      <LinkBanner live={list} />
      {executions.length === 0 ? (
        <Empty list={list} filter={filter} />
      ) : (
        <VirtualList
          label="Executions"
          rows={executions}
          length={executions.length}
          guess={() => ROW_HEIGHT}
          render={renderExecution}
          {...cursor.props}
          onNearEnd={() => loadMore(list)}
        />
      )}
    </>
  );
}

const idOf = ({ id }: Execution): string => id;
const renderExecution = (execution: Execution) => <ExecutionRow execution={execution} />;

function loadMore(list: ExecutionList): Promise<boolean> | undefined {
  if (!list.more.peek()) return undefined;
  return list.loadMore().then(
    () => true,
    (error) => {
      notifyError(error);
      return false;
    },
  );
}

function ExecutionRow({ execution }: { readonly execution: Execution }) {
  const { id, state, input, providerId, labels, createTime, startTime, endTime } = execution;
  return (
    <a class="execution-row" href={executionHref(id)} data-row-focus>
      <StateBadge state={state} />
      <span class="what">
        <span class="input" dir="auto">
          {oneLine(input?.text ?? "", 300) || id}
        </span>
        <Outcome execution={execution} />
      </span>
      <span class="facts">
        {Object.entries(labels)
          .slice(0, 3)
          .map(([name, value]) => (
            <span class="label-chip" key={name} dir="auto">
              {value === "" ? name : `${name}=${value}`}
            </span>
          ))}
        <span class="provider">{providerId}</span>
      </span>
      <span class="when">
        <Ago time={createTime} />
        {canCancel(state) || endTime !== undefined ? <Elapsed from={startTime} to={endTime} /> : null}
      </span>
    </a>
  );
}

/** What there is to say of an execution beside its input: its question, its output or its failure. */
function Outcome({ execution }: { readonly execution: Execution }) {
  const { openActions, error, finalOutput, cancel } = execution;
  const [action] = openActions;
  if (action !== undefined) return <Line class="attention" text={action.title} />;
  if (error !== undefined) return <Line class="bad" text={`${failureName(error.reason)}: ${error.message}`} />;
  return <Line class="" text={finalOutput || cancel?.reason || ""} />;
}

function Line({ class: name, text }: { readonly class: string; readonly text: string }) {
  return text === "" ? null : (
    <span class={`outcome ${name}`} dir="auto">
      {oneLine(text, 240)}
    </span>
  );
}

function Empty({ list, filter }: { readonly list: ExecutionList; readonly filter: ExecutionFilter }) {
  if (!list.synced.value) return <p class="empty quiet">{list.link.value.state === "failed" ? "" : "Loading…"}</p>;
  const filtered = hrefOf({ view: "executions", filter }) !== hrefOf({ view: "executions", filter: NO_FILTER });
  if (filtered) {
    return (
      <div class="empty">
        <p>No execution matches.</p>
        <a class="button" href={hrefOf({ view: "executions", filter: NO_FILTER })}>
          Show all
        </a>
      </div>
    );
  }
  return (
    <div class="empty">
      <p>Nothing has run here yet.</p>
      <a class="button primary" href={hrefOf({ view: "start", providerId: "", conversationId: "" })}>
        <Icon name="plus" />
        Start an execution
      </a>
    </div>
  );
}
