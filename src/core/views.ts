import { clone, fromBinary } from "@bufbuild/protobuf";
import { type ActionRequest, ActionRequestSchema, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { WatchActionsRequest } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { type Execution, ExecutionSchema } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { WatchExecutionsRequest } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { Change, ChangeFeed, ChangeHub, Changes } from "./feed.js";
import { decodeFold, toExecution } from "./fold.js";
import { KnownActions } from "./known-actions.js";
import { isTerminal } from "./lifecycle.js";
import type { Pulse } from "./pulse.js";
import type { Caller } from "./runtime.js";
import { nothingNew, Shown, type ViewItem, type ViewUpdate } from "./shown.js";
import type { ActionQuery, ExecutionQuery, Page, PageQuery, Store } from "./store.js";

/** What a view reads from. */
export interface ViewOptions {
  readonly store: Store;
  readonly hub: ChangeHub;
  /** Says when a view that showed nothing is due a heartbeat, and ends the views with the runtime. */
  readonly pulse: Pulse;
  readonly getExecution: (caller: Caller, executionId: string) => Promise<Execution>;
}

const PAGE_SIZE = 100;

/** The executions that match, newest first, then each as it changes. */
export async function* viewExecutions(
  options: ViewOptions,
  caller: Caller,
  request: WatchExecutionsRequest,
  signal: AbortSignal,
): AsyncGenerator<ViewUpdate<Execution>> {
  const { store, hub, getExecution } = options;
  const query = executionQuery(caller, request);
  yield* view(options.pulse, hub.open(caller.tenantId, signal), {
    shown: new Shown<Execution>({
      schema: ExecutionSchema,
      matches: (execution) => matches(execution, query),
      isFinal: ({ state }) => isTerminal(state),
    }),
    async *first() {
      for await (const page of pages((at) => store.listExecutions({ ...query, ...at }))) {
        yield page.map((stored) => summaryOf(toExecution(decodeFold(stored))));
      }
    },
    async *changed(changes) {
      for (const { executionId } of changes) yield summaryOf(await getExecution(caller, executionId));
    },
  });
}

/** The actions that match (PENDING ones where no state is named), newest first, then each as it changes. */
export async function* viewActions(
  { store, hub, pulse }: ViewOptions,
  caller: Caller,
  request: WatchActionsRequest,
  signal: AbortSignal,
): AsyncGenerator<ViewUpdate<ActionRequest>> {
  const query = actionQuery(caller, request);
  const known = new KnownActions(store, query);
  yield* view(pulse, hub.open(caller.tenantId, signal, true), {
    shown: new Shown<ActionRequest>({
      schema: ActionRequestSchema,
      matches: (action) => wanted(action, query),
      isFinal: ({ state }) => state !== ActionState.PENDING,
    }),
    async *first() {
      known.clear();
      for await (const page of pages((at) => store.listActions({ ...query, ...at }))) {
        const items = page.map((bytes) => fromBinary(ActionRequestSchema, bytes));
        known.add(items);
        yield items;
      }
    },
    changed: (changes) => known.changed(changes),
  });
}

/** Where a view's items come from. */
interface ViewSource<T extends ViewItem> {
  readonly shown: Shown<T>;
  /** What matches now, in pages. */
  first(): AsyncIterable<T[]>;
  /** What became of what changed, one after another: all together may be more than fits in memory. */
  changed(changes: readonly Change[]): AsyncIterable<T>;
}

/** The frames of a view: pages of what matches, then `synced`, then what changes, or a heartbeat where nothing does. */
async function* view<T extends ViewItem>(
  pulse: Pulse,
  feed: ChangeFeed,
  { shown, first, changed }: ViewSource<T>,
): AsyncGenerator<ViewUpdate<T>> {
  pulse.add(feed);
  try {
    for await (const items of first()) if (items.length > 0) yield shown.page(items);
    yield nothingNew();
    feed.heard();
    const updates = (changes: Changes) => (changes === "all" ? shown.anew(first()) : shown.updates(changed(changes)));
    for (let changes = await feed.next(); changes !== undefined; changes = await feed.next()) {
      for await (const update of updates(changes)) {
        yield update;
        feed.heard();
      }
      if (!feed.isSilent) continue;
      yield nothingNew();
      feed.heard();
    }
  } finally {
    pulse.remove(feed);
    feed.close();
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
