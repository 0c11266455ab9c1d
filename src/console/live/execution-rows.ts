import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { isTerminal } from "../../client/cursor.js";
import type { ViewRows } from "./view-sync.js";

/** The executions that a list shows, newest first. */
export interface ExecutionRows extends ViewRows<Execution> {
  readonly shown: ReadonlySignal<readonly Execution[]>;
  readonly synced: Signal<boolean>;
  has(id: string): boolean;
  /** Those that are not over, as far as is known. */
  activeIds(): readonly string[];
  isOldest(execution: Execution): boolean;
  /** A point in time for {@link takePage}. */
  now(): number;
  /** Takes a page: what lies within its range and is not on it, is gone. */
  takePage(page: ExecutionPage): void;
  /** Forgets those that are over and older than one. */
  dropEnded(oldest: Execution): void;
}

/** All matches from one to another, newest first. */
export interface ExecutionPage {
  readonly executions: readonly Execution[];
  /** The one before the first; undefined where none is newer. */
  readonly after: Execution | undefined;
  /** Whether none is older than the last one. */
  readonly isLast: boolean;
  /** What {@link ExecutionRows.now} was before it was read: rows that changed since are newer than the page. */
  readonly askedAt: number;
  /** Whether only executions that are known already are of interest. */
  readonly onlyKnown?: boolean;
}

interface Row {
  readonly execution: Execution;
  readonly changedAt: number;
}

/** Executions in other states are not shown; with no states, all are. */
export function createExecutionRows(states: readonly ExecutionState[]): ExecutionRows {
  const byId = new Map<string, Row>();
  const shown = signal<readonly Execution[]>([]);
  const synced = signal(false);
  let changes = 0;

  const publish = (): void => {
    shown.value = Array.from(byId.values(), ({ execution }) => execution).sort(newestFirst);
  };
  const put = (execution: Execution): void => {
    const known = byId.get(execution.id);
    // A page may have been read before what the stream has shown since.
    if (known !== undefined && known.execution.lastSequence > execution.lastSequence) return;
    if (states.length > 0 && !states.includes(execution.state)) byId.delete(execution.id);
    else byId.set(execution.id, { execution, changedAt: changes });
  };
  const dropWhere = (isGone: (row: Row) => boolean): void => {
    for (const [id, row] of byId) if (isGone(row)) byId.delete(id);
  };

  return {
    shown,
    synced,
    has: (id) => byId.has(id),
    activeIds: () => shown.peek().flatMap(({ id, state }) => (isTerminal(state) ? [] : [id])),
    isOldest: (execution) => shown.peek().every((other) => newestFirst(other, execution) <= 0),
    now: () => changes,
    change(changed, removedIds) {
      if (changed.length + removedIds.length === 0) return;
      changes++;
      for (const id of removedIds) byId.delete(id);
      for (const execution of changed) put(execution);
      publish();
    },
    keepOnly(ids) {
      dropWhere(({ execution }) => !ids.has(execution.id));
      batch(() => {
        synced.value = true;
        publish();
      });
    },
    takePage({ executions, after, isLast, askedAt, onlyKnown = false }) {
      const onPage = new Set(executions.map(({ id }) => id));
      const last = executions.at(-1);
      const isWithin = (execution: Execution): boolean =>
        (after === undefined || newestFirst(execution, after) > 0) &&
        (isLast || (last !== undefined && newestFirst(execution, last) <= 0));
      dropWhere((row) => row.changedAt <= askedAt && !onPage.has(row.execution.id) && isWithin(row.execution));
      changes++;
      for (const execution of executions) if (!onlyKnown || byId.has(execution.id)) put(execution);
      publish();
    },
    dropEnded(oldest) {
      dropWhere(({ execution }) => isTerminal(execution.state) && newestFirst(execution, oldest) > 0);
      publish();
    },
  };
}

function newestFirst(a: Execution, b: Execution): number {
  const [first, second] = [a.createTime, b.createTime];
  const seconds = Number((second?.seconds ?? 0n) - (first?.seconds ?? 0n));
  if (a.id === b.id) return 0;
  return seconds || (second?.nanos ?? 0) - (first?.nanos ?? 0) || (a.id < b.id ? 1 : -1);
}
