import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useCallback, useRef } from "preact/hooks";
import type { Command } from "../commands.js";
import type { ListHandle } from "./list-view.js";

/** The row of a list that the keyboard is on. */
export interface ListCursor {
  /** Give these to the list. */
  readonly props: { onReady(handle: ListHandle): void; onFocusRow(index: number): void };
  /** Undefined until the list is shown. */
  readonly list: ReadonlySignal<ListHandle | undefined>;
  /** The row that has the focus, or had it last; -1 where none ever had. */
  readonly index: ReadonlySignal<number>;
  /** `j` and `k`. */
  readonly commands: readonly Command[];
}

/** Lets `j` and `k` move the focus from row to row. */
export function useListCursor(length: number, what: string): ListCursor {
  const list = useSignal<ListHandle | undefined>(undefined);
  const rows = useRef(length);
  rows.current = length;
  const index = useSignal(-1);
  const move = (step: number): void => {
    const handle = list.peek();
    if (handle === undefined || rows.current === 0) return;
    const from = Math.min(rowOfFocus() ?? index.peek(), rows.current - 1);
    const next = from < 0 ? handle.firstVisible() : Math.max(0, Math.min(rows.current - 1, from + step));
    index.value = next;
    handle.show(next, { focus: true });
  };
  const onReady = useCallback((handle: ListHandle): void => {
    list.value = handle;
  }, []);
  const onFocusRow = useCallback((row: number): void => {
    index.value = row;
  }, []);
  return {
    props: { onReady, onFocusRow },
    list,
    index,
    commands: [
      { title: `Next ${what}`, keys: "j", hidden: true, run: () => move(1) },
      { title: `Previous ${what}`, keys: "k", hidden: true, run: () => move(-1) },
    ],
  };
}

/** Rows may have come before the one with the focus since. */
function rowOfFocus(): number | undefined {
  const row = document.activeElement?.closest<HTMLElement>("[data-index]")?.dataset["index"];
  return row === undefined ? undefined : Number(row);
}
