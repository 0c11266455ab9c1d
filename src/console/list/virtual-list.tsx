import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { createListView, type ListHandle, type ListView } from "./list-view.js";

export interface VirtualListProps<Row> {
  /** What the list is of, for those who do not see it. */
  readonly label: string;
  /** May grow in place; `length` tells. */
  readonly rows: readonly Row[];
  readonly length: number;
  keyOf(row: Row): string | number;
  /** About how high a row is, in pixels, before it was ever shown. */
  guess(row: Row): number;
  render(row: Row, index: number): ComponentChildren;
  /** Whether every row is as high as guessed: then none is measured. */
  readonly uniform?: boolean;
  /** Whether the list begins at its end and stays there while it grows, until somebody scrolls up. */
  readonly follow?: boolean;
  /** Gets what scrolls the list from outside, once. */
  onReady?(handle: ListHandle): void;
  /** Called when the rows that are shown come within a screen of the last one. */
  onNearEnd?(): void;
}

/** A list of any length, of which only the rows in view exist. */
export function VirtualList<Row>(props: VirtualListProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const range = useSignal({ first: 0, last: 0 });
  const { rows } = props;
  // A list of other rows is another list.
  const view = useMemo<ListView>(() => {
    const guess = (index: number): number => {
      const row = rows[index];
      return row === undefined ? 0 : latest.current.guess(row);
    };
    return createListView({ guess, range, follow: props.follow === true });
  }, [rows]);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    props.onReady?.(view.handle);
    return view.attach(element, () => latest.current.onNearEnd?.());
  }, [view]);
  useLayoutEffect(() => view.resize(props.length), [view, props.length]);

  const { first, last } = range.value;
  return (
    <section class="scroller" ref={scroller} tabIndex={0} aria-label={props.label}>
      <ol class="rows" style={{ paddingBlockStart: `${view.offsetOf(first)}px` }}>
        {rows.slice(first, Math.min(last, props.length)).map((row, at) => (
          <Item
            key={props.keyOf(row)}
            index={first + at}
            length={props.length}
            view={props.uniform === true ? undefined : view}
          >
            {props.render(row, first + at)}
          </Item>
        ))}
      </ol>
    </section>
  );
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
