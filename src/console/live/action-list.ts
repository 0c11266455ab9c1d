import { type ReadonlySignal, signal } from "@preact/signals";
import { type ActionRequest, ActionState } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { client } from "../session.js";
import { keepLive, type Live } from "./live.js";
import { createViewSync } from "./view-sync.js";

const PAGE_SIZE = 200;
/** How often the actions that are over are read again. */
const CLOSED_MS = 3_000;

/** Actions of all executions. */
export interface ActionList extends Live {
  readonly actions: ReadonlySignal<readonly ActionRequest[]>;
  readonly synced: ReadonlySignal<boolean>;
  /** Shows an action as an answer left it, before the server's next frame does. */
  take(action: ActionRequest): void;
}

/** Watches the actions that wait for an answer, oldest first. */
export function watchPendingActions(): ActionList {
  const list = createList((a, b) => createMs(a) - createMs(b));
  const live = keepLive({
    async stream(signal, heard) {
      const sync = createViewSync(list);
      for await (const frame of client.actions.watchActions({}, { signal })) {
        heard();
        sync.take(frame.actions, frame);
      }
      return false;
    },
    async poll(signal) {
      list.replace((await client.actions.listActions({ pageSize: PAGE_SIZE }, { signal })).actions);
      return false;
    },
  });
  return { ...live, ...list };
}

/** Reads the newest actions that are over, every few seconds. */
export function readClosedActions(): ActionList {
  const list = createList((a, b) => createMs(b) - createMs(a));
  const { RESPONDED, EXPIRED, ABANDONED } = ActionState;
  const states = [RESPONDED, EXPIRED, ABANDONED];
  const live = keepLive({
    pollIntervalMs: CLOSED_MS,
    async poll(signal) {
      list.replace((await client.actions.listActions({ states, pageSize: PAGE_SIZE }, { signal })).actions);
      return false;
    },
  });
  return { ...live, ...list };
}

function createList(order: (a: ActionRequest, b: ActionRequest) => number) {
  const byId = new Map<string, ActionRequest>();
  const actions = signal<readonly ActionRequest[]>([]);
  const synced = signal(false);
  const publish = (): void => {
    actions.value = [...byId.values()].sort(order);
  };
  return {
    actions,
    synced,
    take(action: ActionRequest): void {
      if (action.state !== ActionState.PENDING) byId.delete(action.id);
      publish();
    },
    change(changed: readonly ActionRequest[], removedIds: readonly string[]): void {
      for (const id of removedIds) byId.delete(id);
      for (const action of changed) byId.set(action.id, action);
      if (changed.length + removedIds.length > 0) publish();
    },
    keepOnly(ids: ReadonlySet<string>): void {
      for (const id of byId.keys()) if (!ids.has(id)) byId.delete(id);
      synced.value = true;
      publish();
    },
    replace(all: readonly ActionRequest[]): void {
      byId.clear();
      for (const action of all) byId.set(action.id, action);
      synced.value = true;
      publish();
    },
  };
}

function createMs({ createTime }: ActionRequest): number {
  return createTime === undefined ? 0 : Number(createTime.seconds) * 1_000 + createTime.nanos / 1e6;
}
