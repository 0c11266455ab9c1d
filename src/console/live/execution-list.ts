import type { ReadonlySignal } from "@preact/signals";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { toRpcError } from "../../client/errors.js";
import type { ExecutionFilter, StateGroup } from "../route.js";
import { client } from "../session.js";
import { parseLabels } from "../words/labels.js";
import { createExecutionPages, type ExecutionPages } from "./execution-pages.js";
import { createExecutionRows, type ExecutionRows } from "./execution-rows.js";
import { keepLive, type Live } from "./live.js";
import { createViewSync } from "./view-sync.js";

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
/** A list that was watched as a whole and has grown beyond this is paged as well. */
const MOST_ROWS = 2 * WATCHED_ROWS;
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
  const request = requestOf(filter);
  const rows = createExecutionRows(request.states);
  const pages = createExecutionPages(
    (page, options) => client.executions.listExecutions({ ...request, ...page }, options),
    rows,
  );
  let paged = false;

  const live = keepLive({
    async stream(signal, heard) {
      if (!paged && (await watchAll(request, rows, signal, heard)) === "too many") paged = true;
      if (paged) await watchActive(request, rows, pages, signal, heard);
      return false;
    },
    async poll(signal) {
      await pages.readNewest(signal);
      rows.synced.value = true;
      await pages.readOlder(signal);
      return false;
    },
  });
  return { ...live, executions: rows.shown, synced: rows.synced, more: pages.more, loadMore: pages.loadMore };
}

/** Watches every match, over and not. A reconnect starts over: what it does not send again is gone. */
async function watchAll(
  request: MatchRequest,
  rows: ExecutionRows,
  signal: AbortSignal,
  heard: () => void,
): Promise<"too many" | "cut"> {
  const sync = createViewSync(rows);
  const enough = new AbortController();
  const options = { signal: AbortSignal.any([signal, enough.signal]) };
  for await (const frame of client.executions.watchExecutions(request, options)) {
    heard();
    const sent = sync.take(frame.executions, frame);
    if (sent <= WATCHED_ROWS && rows.shown.peek().length <= MOST_ROWS) continue;
    // Leaving the loop alone would leave the connection open.
    enough.abort();
    return "too many";
  }
  return "cut";
}

/** Watches the matches that are not over, and reads the newest page again every other second. */
async function watchActive(
  request: MatchRequest,
  rows: ExecutionRows,
  pages: ExecutionPages,
  signal: AbortSignal,
  heard: () => void,
): Promise<void> {
  const states = request.states.length === 0 ? ACTIVE : request.states.filter((state) => ACTIVE.includes(state));
  const refresh = async (): Promise<void> => {
    await pages.readNewest(signal);
    rows.synced.value = true;
  };
  await refresh();
  // A page that fails is read again soon; a server that is gone ends the stream too.
  const timer = setInterval(() => void refresh().catch(() => undefined), REFRESH_MS);
  let left: readonly string[] = [];
  const sync = createViewSync<Execution>({
    change(changed, removedIds) {
      // Where only terminal states are asked for, pages alone say it all.
      if (states.length > 0) rows.change(changed, []);
      left = removedIds;
    },
    // What ended while there was no stream.
    keepOnly(ids) {
      left = [...left, ...rows.activeIds().filter((id) => !ids.has(id))];
    },
  });
  try {
    const watched = { ...request, states: states.length === 0 ? ACTIVE : states };
    for await (const frame of client.executions.watchExecutions(watched, { signal })) {
      heard();
      sync.take(frame.executions, frame);
      if (request.states.length > 0) rows.change([], left.filter(rows.has));
      else await readAgain(left.filter(rows.has), rows, signal);
    }
  } finally {
    clearInterval(timer);
  }
}

/** Reads executions that are no longer among the active ones, as they now are. */
async function readAgain(ids: readonly string[], rows: ExecutionRows, signal: AbortSignal): Promise<void> {
  const gone: string[] = [];
  const read = await Promise.all(
    ids.map(async (executionId) => {
      try {
        return (await client.executions.getExecution({ executionId }, { signal })).execution;
      } catch (error) {
        if (toRpcError(error).reason !== ErrorReason.NOT_FOUND) throw error;
        gone.push(executionId);
        return undefined;
      }
    }),
  );
  rows.change(
    read.filter((execution) => execution !== undefined),
    gone,
  );
}

type MatchRequest = ReturnType<typeof requestOf>;

function requestOf({ group, providerId, labels, conversationId }: ExecutionFilter) {
  return { providerId, conversationId, states: [...STATES_OF[group]], labels: parseLabels(labels) };
}
