import { useRef } from "preact/hooks";
import type { Command } from "../commands.js";
import type { ListHandle } from "./list-view.js";

/** The row of a list that the keyboard is on. */
export interface ListCursor {
  /** Give it to the list. */
  ready(handle: ListHandle): void;
  readonly handle: () => ListHandle | undefined;
  /** The row that has the focus, or had it last; -1 where none ever had. */
  index(): number;
  /** `j` and `k`. */
  readonly commands: readonly Command[];
}

/** Lets `j` and `k` move the focus from row to row. */
export function useListCursor(length: number, what: string): ListCursor {
  const state = useRef<{ handle: ListHandle | undefined; index: number; length: number }>({
    handle: undefined,
    index: -1,
    length,
  });
  state.current.length = length;
  const index = (): number => {
    const row = document.activeElement?.closest<HTMLElement>("[data-index]");
    if (row !== null && row !== undefined) state.current.index = Number(row.dataset["index"]);
    return Math.min(state.current.index, state.current.length - 1);
  };
  const move = (step: number): void => {
    const { handle, length: count } = state.current;
    if (handle === undefined || count === 0) return;
    const from = index();
    const next = from < 0 ? handle.firstVisible() : Math.max(0, Math.min(count - 1, from + step));
    state.current.index = next;
    handle.show(next, { focus: true });
  };
  return {
    ready(handle) {
      state.current.handle = handle;
    },
    handle: () => state.current.handle,
    index,
    commands: [
      { title: `Next ${what}`, keys: "j", hidden: true, run: () => move(1) },
      { title: `Previous ${what}`, keys: "k", hidden: true, run: () => move(-1) },
    ],
  };
}
