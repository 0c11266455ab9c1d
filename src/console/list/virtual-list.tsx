import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { createListView, type ListHandle, type ListView, type LoadMore, type RowKey } from "./list-view.js";

export interface VirtualListProps<Row> {
  /** What the list is of, for those who do not see it. */
  readonly label: string;
  /** May grow in place; `length` tells. */
  readonly rows: readonly Row[];
  readonly length: number;
  /** What a row is known by; its index where rows only ever come at the end. */
  keyOf(row: Row, index: number): RowKey;
  /** About how high a row is, in pixels, before it was ever shown. */
  guess(row: Row): number;
  /** Draws a row. While it is the same function, a row that stays is not drawn again. */
  readonly render: (row: Row, index: number) => ComponentChildren;
  /** Whether every row is as high as guessed: then none is measured. */
  readonly uniform?: boolean;
  /** Whether the list begins at its end and stays there while it grows, until somebody scrolls up. */
  readonly follow?: boolean;
  /** Gets what scrolls the list from outside, once. */
  onReady?(handle: ListHandle): void;
  /** Called when the focus comes into a row. */
  onFocusRow?(key: RowKey): void;
  /** Called when the rows that are shown come within a screen of the last one. */
  readonly onNearEnd?: LoadMore;
}

/** A list of any length, of which only the rows in view exist. */
export function VirtualList<Row>(props: VirtualListProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const range = useSignal({ first: 0, last: 0, top: 0 });
  const { rows, keyOf, guess } = props;
  const view = useMemo<ListView>(() => createListView({ range, follow: props.follow === true }), []);
  const whole =
    <Result,>(run: (row: Row, index: number) => Result) =>
    (index: number): Result =>
      run(rows[index] as Row, index);
  view.take({ rows, length: props.length, keyOf: whole(keyOf), guess: whole(guess) });

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    props.onReady?.(view.handle);
    return view.attach(element, () => latest.current.onNearEnd?.());
  }, [view]);
  useLayoutEffect(() => view.sync(), [view, rows, props.length]);

  const { first, last, top } = range.value;
  const drawn = useRef<ReadonlyMap<RowKey, Drawn<Row>>>(new Map());
  const shown = rows.slice(first, Math.min(last, props.length));
  // Of a list that grows nobody knows how long it is.
  const length = props.follow === true ? -1 : props.length;
  drawn.current = new Map(
    shown.map((row, at) => {
      const { render } = props;
      const key = keyOf(row, first + at);
      const before = drawn.current.get(key);
      const wanted = { row, index: first + at, length, render };
      if (before !== undefined && isSame(before, wanted)) return [key, before];
      const node = (
        <Item key={key} index={wanted.index} length={length} view={props.uniform === true ? undefined : view}>
          {render(row, wanted.index)}
        </Item>
      );
      return [key, { ...wanted, node }];
    }),
  );
  return (
    <section
      class="scroller"
      ref={scroller}
      tabIndex={0}
      aria-label={props.label}
      onFocusIn={({ target }) => {
        const row = (target as HTMLElement).closest<HTMLElement>("[data-index]");
        const index = Number(row?.dataset["index"] ?? -1);
        const focused = rows[index];
        if (focused !== undefined) props.onFocusRow?.(keyOf(focused, index));
      }}
    >
      <ol class="rows" style={{ paddingBlockStart: `${top}px` }}>
        {Array.from(drawn.current.values(), ({ node }) => node)}
      </ol>
    </section>
  );
}

/** A row as it was drawn last. */
interface Drawn<Row> {
  readonly row: Row;
  readonly index: number;
  readonly length: number;
  readonly render: VirtualListProps<Row>["render"];
  readonly node: ComponentChildren;
}

function isSame<Row>(before: Drawn<Row>, { row, index, length, render }: Omit<Drawn<Row>, "node">): boolean {
  return before.row === row && before.index === index && before.length === length && before.render === render;
}

interface ItemProps {
  readonly index: number;
  readonly length: number;
  /** Measures the item. */
  readonly view: ListView | undefined;
  readonly children: ComponentChildren;
}

function Item({ index, length, view, children }: ItemProps) {
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => (element.current === null ? undefined : view?.measure(element.current)), [view]);
  return (
    <li ref={element} data-index={index} aria-posinset={index + 1} aria-setsize={length} tabIndex={-1}>
      {children}
    </li>
  );
}
