import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { WatchExecutionsResponse } from "../../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { ExecutionFilter, StateGroup } from "../route.js";
import { client } from "../session.js";
import { parseLabels } from "../words/labels.js";
import { keepLive, type Live } from "./live.js";
import { createViewSync, type ViewRows } from "./view-sync.js";

const { QUEUED, STARTING, RUNNING, AWAITING_INPUT, AWAITING_APPROVAL, CANCELLING } = ExecutionState;
const ACTIVE = [QUEUED, STARTING, RUNNING, AWAITING_INPUT, AWAITING_APPROVAL, CANCELLING];

/** The states of each group; none for all. */
export const STATES_OF: Readonly<Record<StateGroup, readonly ExecutionState[]>> = {
  all: [],
  active: ACTIVE,
  waiting: [AWAITING_INPUT, AWAITING_APPROVAL],
  succeeded: [ExecutionState.SUCCEEDED],
  failed: [ExecutionState.FAILED],
  cancelled: [ExecutionState.CANCELLED],
};

/** More matches than this are paged instead of watched as a whole. */
const WATCHED_ROWS = 1_000;
const PAGE_SIZE = 100;
/** How often the newest page is read again where not everything is watched. */
const REFRESH_MS = 2_000;

/** The executions that match a filter, newest first. */
export interface ExecutionList extends Live {
  readonly executions: ReadonlySignal<readonly Execution[]>;
  /** Whether all that is shown now is known: an empty list is then really empty. */
  readonly synced: ReadonlySignal<boolean>;
  /** Whether older ones can be loaded. */
  readonly more: ReadonlySignal<boolean>;
  loadMore(): Promise<void>;
}

/**
 * Watches the executions that match: all of them by one stream where there are
 * up to a thousand; else those that are not over, with the others by pages.
 */
export function watchExecutionList(filter: ExecutionFilter): ExecutionList {
  const rows = createRows();
  const request = requestOf(filter);
  let paged = false;
  let nextPageToken = "";

  const readPage = async (pageToken: string, signal?: AbortSignal): Promise<void> => {
    const options = signal === undefined ? {} : { signal };
    const page = await client.executions.listExecutions({ ...request, pageSize: PAGE_SIZE, pageToken }, options);
    // The first page is read again and again; where the list goes on is what the last one says.
    if (pageToken !== "" || nextPageToken === "") nextPageToken = page.nextPageToken;
    rows.change(page.executions, []);
    rows.more.value = nextPageToken !== "";
  };

  const live = keepLive({
    async stream(signal, heard) {
      if (!paged && (await watchAll(request, rows, signal, heard)) === "too many") paged = true;
      if (paged) await watchActive(request, rows, readPage, signal, heard);
      return false;
    },
    async poll(signal) {
      await readPage("", signal);
      rows.synced.value = true;
      return false;
    },
  });
  return {
    ...live,
    executions: rows.shown,
    synced: rows.synced,
    more: rows.more,
    loadMore: async () => await readPage(nextPageToken),
  };
}

/** Watches every match, over and not. A reconnect starts over: what it does not send again is gone. */
async function watchAll(
  request: MatchRequest,
  rows: Rows,
  signal: AbortSignal,
  heard: () => void,
): Promise<"too many" | "cut"> {
  const sync = createViewSync(rows);
  const enough = new AbortController();
  const options = { signal: AbortSignal.any([signal, enough.signal]) };
  for await (const frame of client.executions.watchExecutions(request, options)) {
    heard();
    if (sync.take(frame.executions, frame) <= WATCHED_ROWS) continue;
    // Leaving the loop alone would leave the connection open.
    enough.abort();
    return "too many";
  }
  return "cut";
}

/** Watches the matches that are not over, and reads the newest page again every other second and when one of them ends. */
async function watchActive(
  request: MatchRequest,
  rows: Rows,
  readPage: (pageToken: string, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  heard: () => void,
): Promise<void> {
  const states = request.states.length === 0 ? ACTIVE : request.states.filter((state) => ACTIVE.includes(state));
  let stale = true;
  const refresh = async (): Promise<void> => {
    if (!stale) return;
    stale = false;
    await readPage("", signal).catch(() => undefined);
    rows.synced.value = true;
  };
  await refresh();
  const timer = setInterval(() => {
    stale = true;
    void refresh();
  }, REFRESH_MS);
  try {
    // Only terminal states are asked for: pages alone say it all.
    const watched = states.length === 0 ? { ...request, states: ACTIVE } : { ...request, states };
    for await (const frame of client.executions.watchExecutions(watched, { signal })) {
      heard();
      const show = states.length === 0 ? [] : frame.executions;
      rows.change(show, []);
      if (frame.removedIds.length > 0) await refreshEnded(frame, rows, signal);
    }
  } finally {
    clearInterval(timer);
  }
}

/** Executions that left the watched states: read as they now are. */
async function refreshEnded({ removedIds }: WatchExecutionsResponse, rows: Rows, signal: AbortSignal): Promise<void> {
  const shown = removedIds.filter((id) => rows.has(id));
  const read = await Promise.all(
    shown.map(async (id) => (await client.executions.getExecution({ executionId: id }, { signal })).execution),
  );
  rows.change(
    read.filter((execution) => execution !== undefined),
    [],
  );
}

type MatchRequest = ReturnType<typeof requestOf>;

function requestOf({ group, providerId, labels, conversationId }: ExecutionFilter) {
  return { providerId, conversationId, states: [...STATES_OF[group]], labels: parseLabels(labels) };
}

interface Rows extends ViewRows<Execution> {
  readonly shown: ReadonlySignal<readonly Execution[]>;
  readonly synced: Signal<boolean>;
  readonly more: Signal<boolean>;
  has(id: string): boolean;
}

function createRows(): Rows {
  const byId = new Map<string, Execution>();
  const shown = signal<readonly Execution[]>([]);
  const synced = signal(false);
  const publish = (): void => {
    shown.value = [...byId.values()].sort(newestFirst);
  };
  return {
    shown,
    synced,
    more: signal(false),
    has: (id) => byId.has(id),
    change(changed, removedIds) {
      for (const id of removedIds) byId.delete(id);
      for (const execution of changed) {
        const known = byId.get(execution.id);
        // A page may have been read before what the stream has shown since.
        if (known === undefined || known.lastSequence <= execution.lastSequence) byId.set(execution.id, execution);
      }
      if (changed.length + removedIds.length > 0) publish();
    },
    keepOnly(ids) {
      for (const id of byId.keys()) if (!ids.has(id)) byId.delete(id);
      batch(() => {
        synced.value = true;
        publish();
      });
    },
  };
}

function newestFirst(a: Execution, b: Execution): number {
  const [first, second] = [a.createTime, b.createTime];
  const seconds = Number((second?.seconds ?? 0n) - (first?.seconds ?? 0n));
  return seconds || (second?.nanos ?? 0) - (first?.nanos ?? 0) || (a.id < b.id ? 1 : -1);
}
