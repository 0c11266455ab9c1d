import { clone, fromBinary } from "@bufbuild/protobuf";
import { type ActionRequest, ActionRequestSchema, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { WatchActionsRequest } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { type Execution, ExecutionSchema } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { WatchExecutionsRequest } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { ChangeHub } from "./feed.js";
import { decodeFold, toExecution } from "./fold.js";
import { KnownActions } from "./known-actions.js";
import { isTerminal } from "./lifecycle.js";
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

/** The executions that match, newest first, then each as it changes. */
export async function* viewExecutions(
  { store, hub, getExecution }: ViewOptions,
  caller: Caller,
  request: WatchExecutionsRequest,
  signal: AbortSignal,
): AsyncGenerator<ViewUpdate<Execution>> {
  const query = executionQuery(caller, request);
  const feed = hub.open(caller.tenantId, signal);
  const shown = new Shown<Execution>(
    (execution) => matches(execution, query),
    ({ state }) => isTerminal(state),
  );
  try {
    for await (const page of pages((at) => store.listExecutions({ ...query, ...at }))) {
      const items = page.map((stored) => summaryOf(toExecution(decodeFold(stored))));
      if (items.length > 0) yield shown.page(items);
    }
    yield { items: [], synced: true, removedIds: [] };
    for (let changes = await feed.next(); changes !== undefined; changes = await feed.next()) {
      const changed = await Promise.all(changes.map(({ executionId }) => getExecution(caller, executionId)));
      const update = shown.update(changed.map(summaryOf));
      if (update !== undefined) yield update;
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
  const shown = new Shown<ActionRequest>(
    (action) => wanted(action, query),
    ({ state }) => state !== ActionState.PENDING,
  );
  const known = new KnownActions(store, query);
  try {
    for await (const page of pages((at) => store.listActions({ ...query, ...at }))) {
      const items = page.map((bytes) => fromBinary(ActionRequestSchema, bytes));
      known.add(items);
      if (items.length > 0) yield shown.page(items);
    }
    yield { items: [], synced: true, removedIds: [] };
    for (let changes = await feed.next(); changes !== undefined; changes = await feed.next()) {
      const update = shown.update(await known.changed(changes));
      if (update !== undefined) yield update;
    }
  } finally {
    feed.end();
  }
}

/** What a view shows that can still leave its filter. */
class Shown<T extends { readonly id: string }> {
  readonly #ids = new Set<string>();
  readonly #matches: (item: T) => boolean;
  readonly #isFinal: (item: T) => boolean;

  /** An item of which `isFinal` holds does not change again. */
  constructor(matches: (item: T) => boolean, isFinal: (item: T) => boolean) {
    this.#matches = matches;
    this.#isFinal = isFinal;
  }

  /** A page of what matches at first. */
  page(items: T[]): ViewUpdate<T> {
    this.#show(items);
    return { items, synced: false, removedIds: [] };
  }

  /** What changed of what matches or did; undefined where nothing of it does. */
  update(changed: readonly T[]): ViewUpdate<T> | undefined {
    const items = changed.filter(this.#matches);
    const others = changed.filter((item) => !this.#matches(item));
    const removedIds = others.filter(({ id }) => this.#ids.delete(id)).map(({ id }) => id);
    this.#show(items);
    return items.length + removedIds.length === 0 ? undefined : { items, synced: true, removedIds };
  }

  #show(items: readonly T[]): void {
    for (const item of items) {
      if (this.#isFinal(item)) this.#ids.delete(item.id);
      else this.#ids.add(item.id);
    }
  }
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
