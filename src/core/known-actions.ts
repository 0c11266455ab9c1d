import { fromBinary } from "@bufbuild/protobuf";
import { type ActionRequest, ActionRequestSchema, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Change } from "./feed.js";
import type { ActionQuery, PageQuery, Store } from "./store.js";

/** The newest actions of one execution that a changed execution is looked at for. */
const RECENT_ACTIONS = 20;

/**
 * What a view last knew of actions, so that each is shown once in each of its
 * states. Kept of an execution that is not over: its newest actions, and those
 * that are PENDING, which is the only state that is left again.
 */
export class KnownActions {
  readonly #store: Store;
  readonly #query: Omit<ActionQuery, keyof PageQuery>;
  readonly #states = new Map<string, ReadonlyMap<string, ActionState>>();

  constructor(store: Store, query: Omit<ActionQuery, keyof PageQuery>) {
    this.#store = store;
    this.#query = query;
  }

  /** How many actions it keeps. */
  get size(): number {
    return [...this.#states.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Forgets all of them: they are about to be listed anew. */
  clear(): void {
    this.#states.clear();
  }

  /** Takes note of actions that were shown. */
  add(actions: readonly ActionRequest[]): void {
    for (const { id, executionId, state } of actions) {
      if (state !== ActionState.PENDING) continue;
      this.#states.set(executionId, new Map(this.#states.get(executionId)).set(id, state));
    }
  }

  /** The actions of the executions that changed, each in a state that was not seen before. */
  async *changed(changes: readonly Change[]): AsyncGenerator<ActionRequest> {
    const { executionId: only } = this.#query;
    for (const change of changes) {
      if (only === undefined || only === change.executionId) yield* await this.#changedOf(change);
    }
  }

  async #changedOf({ executionId, over }: Change): Promise<readonly ActionRequest[]> {
    const known = this.#states.get(executionId) ?? new Map<string, ActionState>();
    const recent = await this.#recent(executionId);
    const older = await this.#pending(executionId, known, new Set(recent.map(({ id }) => id)));
    const kept = [...recent, ...older.filter(({ state }) => state === ActionState.PENDING)];
    if (over || kept.length === 0) this.#states.delete(executionId);
    else this.#states.set(executionId, new Map(kept.map(({ id, state }) => [id, state])));
    return [...recent, ...older].filter(({ id, state }) => known.get(id) !== state);
  }

  async #recent(executionId: string): Promise<readonly ActionRequest[]> {
    const { states: _, ...all } = this.#query;
    const page = await this.#store.listActions({ ...all, executionId, pageSize: RECENT_ACTIONS, pageToken: "" });
    return page.items.map((bytes) => fromBinary(ActionRequestSchema, bytes));
  }

  /** Those last seen PENDING, as they are now, without the `recent` ones. */
  async #pending(
    executionId: string,
    known: ReadonlyMap<string, ActionState>,
    recent: ReadonlySet<string>,
  ): Promise<readonly ActionRequest[]> {
    const { tenantId } = this.#query;
    const ids = [...known].flatMap(([id, state]) => (state === ActionState.PENDING && !recent.has(id) ? [id] : []));
    const stored = await Promise.all(ids.map((id) => this.#store.getAction({ tenantId, executionId }, id)));
    return stored.filter((bytes) => bytes !== undefined).map((bytes) => fromBinary(ActionRequestSchema, bytes));
  }
}
