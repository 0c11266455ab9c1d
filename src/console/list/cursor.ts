import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useCallback, useRef } from "preact/hooks";
import type { Command } from "../commands.js";
import type { ListHandle, RowKey } from "./list-view.js";

/** The row of a list that the keyboard is on: known by its key, for rows come and go around it. */
export interface ListCursor<Row> {
  /** Give these to the list. */
  readonly props: {
    keyOf(row: Row, index: number): RowKey;
    onReady(handle: ListHandle): void;
    onFocusRow(key: RowKey): void;
  };
  /** Undefined until the list is shown. */
  readonly list: ReadonlySignal<ListHandle | undefined>;
  /** The row that has the focus, or had it last; undefined where none ever had, or it is gone. */
  row(): Row | undefined;
  /** Where that row is, or was when it was last there; -1 where none ever had the focus. */
  index(): number;
  /** `j` and `k`. */
  readonly commands: readonly Command[];
}

export interface ListCursorOptions<Row> {
  readonly rows: readonly Row[];
  /** How many there are, where they grow in place. */
  readonly length?: number;
  /** What a row is known by. */
  keyOf(row: Row, index: number): RowKey;
  /** What a row is, in a word. */
  readonly what: string;
}

/** Lets `j` and `k` move the focus from row to row. A component that asks for the row is drawn again when it is another. */
export function useListCursor<Row>(options: ListCursorOptions<Row>): ListCursor<Row> {
  const list = useSignal<ListHandle | undefined>(undefined);
  const key = useSignal<RowKey | undefined>(undefined);
  const latest = useRef(options);
  latest.current = options;
  const lastIndex = useRef(-1);

  const find = (): number => {
    const wanted = key.value;
    const { rows, length = rows.length, keyOf } = latest.current;
    if (wanted === undefined) return -1;
    const is = (row: Row | undefined, index: number): boolean => row !== undefined && keyOf(row, index) === wanted;
    // Mostly it is where it was.
    if (lastIndex.current < length && is(rows[lastIndex.current], lastIndex.current)) return lastIndex.current;
    const found = rows.findIndex(is);
    if (found >= 0) lastIndex.current = found;
    return found;
  };
  const index = (): number => {
    const found = find();
    return found < 0 ? lastIndex.current : found;
  };
  const move = (step: number): void => {
    const handle = list.peek();
    const { rows, length = rows.length, keyOf } = latest.current;
    if (handle === undefined || length === 0) return;
    const from = Math.min(index(), length - 1);
    const next = from < 0 ? handle.firstVisible() : Math.max(0, Math.min(length - 1, from + step));
    const row = rows[next];
    if (row === undefined) return;
    lastIndex.current = next;
    key.value = keyOf(row, next);
    handle.show(next, { focus: true });
  };
  const onReady = useCallback((handle: ListHandle): void => {
    list.value = handle;
  }, []);
  const onFocusRow = useCallback((focused: RowKey): void => {
    key.value = focused;
    index();
  }, []);
  const { keyOf, what } = options;
  return {
    props: { keyOf, onReady, onFocusRow },
    list,
    row() {
      const found = find();
      return found < 0 ? undefined : latest.current.rows[found];
    },
    index,
    commands: [
      { title: `Next ${what}`, keys: "j", hidden: true, run: () => move(1) },
      { title: `Previous ${what}`, keys: "k", hidden: true, run: () => move(-1) },
    ],
  };
}
