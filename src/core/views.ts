import { clone, fromBinary } from "@bufbuild/protobuf";
import { type ActionRequest, ActionRequestSchema, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { WatchActionsRequest } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { type Execution, ExecutionSchema } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { WatchExecutionsRequest } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { ChangeHub } from "./feed.js";
import { decodeFold, toExecution } from "./fold.js";
import type { Caller } from "./runtime.js";
import type { ActionQuery, ExecutionQuery, Page, PageQuery, Store } from "./store.js";

/** One answer of a view: items, whether all current matches were shown, and what left the filter. */
export interface ViewUpdate<T> {
  readonly items: T[];
  readonly synced: boolean;
  readonly removedIds: string[];
}

/** What a view reads from. */
export interface ViewOptions {
  readonly store: Store;
  readonly hub: ChangeHub;
  readonly getExecution: (caller: Caller, executionId: string) => Promise<Execution>;
}

const PAGE_SIZE = 100;
/** The newest actions of one execution that a changed execution is looked at for. */
const RECENT_ACTIONS = 20;

/** The executions that match, newest first, then each as it changes. */
export async function* viewExecutions(
  { store, hub, getExecution }: ViewOptions,
  caller: Caller,
  request: WatchExecutionsRequest,
  signal: AbortSignal,
): AsyncGenerator<ViewUpdate<Execution>> {
  const query = executionQuery(caller, request);
  const feed = hub.open(caller.tenantId, signal);
  const shown = new Set<string>();
  try {
    for await (const page of pages((at) => store.listExecutions({ ...query, ...at }))) {
      const items = page.map((stored) => summaryOf(toExecution(decodeFold(stored))));
      for (const { id } of items) shown.add(id);
      if (items.length > 0) yield { items, synced: false, removedIds: [] };
    }
    yield { items: [], synced: true, removedIds: [] };
    for (let ids = await feed.next(); ids !== undefined; ids = await feed.next()) {
      const changed = await Promise.all(ids.map((id) => getExecution(caller, id)));
      const update = partition(changed.map(summaryOf), (execution) => matches(execution, query), shown);
      if (update.items.length + update.removedIds.length > 0) yield update;
    }
  } finally {
    feed.end();
  }
}

/** The actions that match (PENDING ones where no state is named), newest first, then each as it changes. */
export async function* viewActions(
  { store, hub }: ViewOptions,
  caller: Caller,
  request: WatchActionsRequest,
  signal: AbortSignal,
): AsyncGenerator<ViewUpdate<ActionRequest>> {
  const query = actionQuery(caller, request);
  const feed = hub.open(caller.tenantId, signal, true);
  const shown = new Set<string>();
  const seen = new Map<string, Seen>();
  try {
    for await (const page of pages((at) => store.listActions({ ...query, ...at }))) {
      const items = page.map((bytes) => fromBinary(ActionRequestSchema, bytes));
      for (const { id, state, executionId } of items) {
        shown.add(id);
        seen.set(id, { state, executionId });
      }
      if (items.length > 0) yield { items, synced: false, removedIds: [] };
    }
    yield { items: [], synced: true, removedIds: [] };
    for (let ids = await feed.next(); ids !== undefined; ids = await feed.next()) {
      const update = partition(await changedActions(store, query, ids, seen), (action) => wanted(action, query), shown);
      if (update.items.length + update.removedIds.length > 0) yield update;
    }
  } finally {
    feed.end();
  }
}

/** What a view last knew of an action. */
interface Seen {
  readonly state: ActionState;
  readonly executionId: string;
}

/** The actions of the executions that changed, in a state that was not seen before. */
async function changedActions(
  store: Store,
  query: Omit<ActionQuery, keyof PageQuery>,
  executionIds: readonly string[],
  seen: Map<string, Seen>,
): Promise<ActionRequest[]> {
  const watched = executionIds.filter((id) => query.executionId === undefined || query.executionId === id);
  const changed: ActionRequest[] = [];
  for (const executionId of watched) {
    const { states: _, ...all } = query;
    const page = await store.listActions({ ...all, executionId, pageSize: RECENT_ACTIONS, pageToken: "" });
    const recent = page.items.map((bytes) => fromBinary(ActionRequestSchema, bytes));
    const older = await pendingActions(store, query.tenantId, executionId, seen, new Set(recent.map(({ id }) => id)));
    const actions = [...recent, ...older];
    changed.push(...actions.filter(({ id, state }) => seen.get(id)?.state !== state));
    for (const { id, state } of actions) seen.set(id, { state, executionId });
  }
  return changed;
}

/** The actions of an execution that were last seen PENDING, the only state that is left again, without those `known`. */
async function pendingActions(
  store: Store,
  tenantId: string,
  executionId: string,
  seen: ReadonlyMap<string, Seen>,
  known: ReadonlySet<string>,
): Promise<ActionRequest[]> {
  const pending: string[] = [];
  for (const [id, last] of seen) {
    if (last.state === ActionState.PENDING && last.executionId === executionId && !known.has(id)) pending.push(id);
  }
  const stored = await Promise.all(pending.map((id) => store.getAction({ tenantId, executionId }, id)));
  return stored.filter((bytes) => bytes !== undefined).map((bytes) => fromBinary(ActionRequestSchema, bytes));
}

function partition<T extends { readonly id: string }>(
  changed: readonly T[],
  matching: (item: T) => boolean,
  shown: Set<string>,
): ViewUpdate<T> {
  const items = changed.filter(matching);
  const removedIds = changed.filter((item) => !matching(item) && shown.has(item.id)).map(({ id }) => id);
  for (const { id } of items) shown.add(id);
  for (const id of removedIds) shown.delete(id);
  return { items, synced: true, removedIds };
}

async function* pages<T>(list: (page: PageQuery) => Promise<Page<T>>): AsyncGenerator<readonly T[]> {
  let pageToken = "";
  do {
    const page = await list({ pageSize: PAGE_SIZE, pageToken });
    yield page.items;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}

/** Filters that are empty do not filter. */
export function executionQuery(
  { tenantId }: Caller,
  request: Pick<
    WatchExecutionsRequest,
    "conversationId" | "providerId" | "parentExecutionId" | "rootExecutionId" | "states" | "labels"
  >,
): Omit<ExecutionQuery, keyof PageQuery> {
  const { conversationId, providerId, parentExecutionId, rootExecutionId, states, labels } = request;
  return { tenantId, conversationId, providerId, parentExecutionId, rootExecutionId, states, labels };
}

/** Filters that are empty do not filter, but that no state means PENDING. */
export function actionQuery(
  { tenantId }: Caller,
  request: Pick<WatchActionsRequest, "states" | "kinds" | "executionId" | "providerId">,
): Omit<ActionQuery, keyof PageQuery> {
  const { kinds, executionId, providerId } = request;
  const states = request.states.length === 0 ? [ActionState.PENDING] : request.states;
  return { tenantId, states, kinds, ...(executionId && { executionId }), ...(providerId && { providerId }) };
}

function matches(execution: Execution, query: Omit<ExecutionQuery, keyof PageQuery>): boolean {
  const { conversationId, providerId, parentExecutionId, rootExecutionId, states = [], labels = {} } = query;
  return (
    (!conversationId || execution.conversationId === conversationId) &&
    (!providerId || execution.providerId === providerId) &&
    (!parentExecutionId || execution.parentExecutionId === parentExecutionId) &&
    (!rootExecutionId || execution.rootExecutionId === rootExecutionId) &&
    (states.length === 0 || states.includes(execution.state)) &&
    Object.entries(labels).every(([name, value]) => execution.labels[name] === value)
  );
}

function wanted(action: ActionRequest, { states = [], kinds = [] }: Omit<ActionQuery, keyof PageQuery>): boolean {
  return (states.length === 0 || states.includes(action.state)) && (kinds.length === 0 || kinds.includes(action.kind));
}

/** Returns an execution without its attachments' bytes, as lists and snapshots show it. */
export function summaryOf(execution: Execution): Execution {
  const attachments = execution.input?.attachments ?? [];
  if (!attachments.some(({ source }) => source.case === "data")) return execution;
  const summary = clone(ExecutionSchema, execution);
  for (const attachment of summary.input?.attachments ?? []) {
    if (attachment.source.case === "data") attachment.source = { case: undefined };
  }
  return summary;
}
