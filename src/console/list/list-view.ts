import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { createHeights } from "./heights.js";

/** What a row is known by, wherever it is. */
export type RowKey = string | number;

/** The rows of a list as they are at one time. */
export interface ListRows {
  readonly length: number;
  /** While it is the same, rows only came at the end. */
  readonly rows: unknown;
  keyOf(index: number): RowKey;
  /** About how high a row is that was never measured. */
  guess(index: number): number;
}

/** The rows that exist, from `first` to before `last`. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
  /** How far below the first of all rows they begin. */
  readonly top: number;
}

/** Scrolls a list from outside. */
export interface ListHandle {
  /** Whether the list stays at its end while it grows. */
  readonly pinned: ReadonlySignal<boolean>;
  /** Whether there is more below what is in view. */
  readonly away: ReadonlySignal<boolean>;
  toEnd(): void;
  /** Brings a row into view; with `focus` it also gets the focus. */
  show(index: number, options?: { readonly focus?: boolean; readonly align?: "nearest" | "start" }): void;
  /** The first row that is in view. */
  firstVisible(): number;
}

/** Loads more rows, if there are any; resolves with whether it is to be asked again where the end is still near. */
export type LoadMore = () => Promise<boolean> | undefined;

/** What a list of rows knows about its screen. */
export interface ListView {
  readonly handle: ListHandle;
  /**
   * Takes the rows that are about to be drawn. Where they are others than before, what was
   * measured is still known, and the first row in view that is left stays where it is.
   */
  take(rows: ListRows): void;
  /** Scrolls and draws as the rows that were taken want it; call it once they are in the page. */
  sync(): void;
  /** Follows the element that scrolls; returns what ends it. */
  attach(scroller: HTMLElement, onNearEnd: LoadMore): () => void;
  /** Measures a row's element from now on; returns what ends it. */
  measure(item: HTMLElement): () => void;
}

/** So many pixels beyond the screen there are rows as well. */
const OVERSCAN = 500;
/** So near to its end a list counts as at its end. */
const END = 24;
/** A row that is shown may turn out to be elsewhere once its neighbours are measured; so often it is corrected. */
const CORRECTIONS = 4;

/** A row of the next rows, and how far it reaches beyond the screen's upper edge. */
interface Anchor {
  readonly index: number;
  readonly above: number;
}

const NO_ROWS: ListRows = { length: 0, rows: undefined, keyOf: (index) => index, guess: () => 0 };

export function createListView({
  range,
  follow,
}: {
  readonly range: Signal<RowRange>;
  readonly follow: boolean;
}): ListView {
  let rows = NO_ROWS;
  /** What was measured, of the rows that there are. */
  let measured = new Map<RowKey, number>();
  const heights = createHeights((index) => measured.get(rows.keyOf(index)) ?? rows.guess(index));
  const pinned = signal(follow);
  const away = signal(false);
  let scroller: HTMLElement | undefined;
  let loadMore: LoadMore = () => undefined;
  let loading = false;
  let lastTop = 0;
  let target = { index: -1, corrections: 0, focus: false };
  /** Where the list is scrolled to with the rows that were taken, until the page has them. */
  let nextTop: number | undefined;

  /** Where the rows begin, below the scroller's own padding. */
  const rowsTop = (): number => (scroller?.firstElementChild as HTMLElement | null)?.offsetTop ?? 0;

  const sync = (): void => {
    if (scroller === undefined) return;
    grow(scroller);
    scrollAsWanted(scroller);
    lastTop = scroller.scrollTop;
    away.value = !isAtEnd(scroller);
    const top = lastTop - rowsTop();
    const bottom = top + scroller.clientHeight;
    showRange(top, bottom);
    if (bottom + scroller.clientHeight > heights.total) void nearEnd();
  };

  const nearEnd = async (): Promise<void> => {
    if (loading) return;
    loading = true;
    const again = await loadMore();
    loading = false;
    if (again) sync();
  };

  const scrollAsWanted = (element: HTMLElement): void => {
    if (nextTop !== undefined) element.scrollTop = nextTop;
    nextTop = undefined;
    if (target.corrections > 0) scrollToTarget(element);
    else if (pinned.peek()) element.scrollTop = element.scrollHeight;
  };

  const grow = (element: HTMLElement): void => {
    const { style } = element.firstElementChild as HTMLElement;
    const height = `${heights.total}px`;
    if (style.height !== height) style.height = height;
  };

  /** Draws the rows between two offsets, and some beyond. */
  const showRange = (from: number, to: number): void => {
    const first = heights.indexAt(Math.max(0, from - OVERSCAN));
    const last = Math.min(heights.indexAt(to + OVERSCAN) + 1, heights.length);
    const top = heights.offsetOf(first);
    const shown = range.peek();
    if (shown.first !== first || shown.last !== last || shown.top !== top) range.value = { first, last, top };
  };

  /** The first row in view that is one of the next rows as well. */
  const anchorIn = (element: HTMLElement, next: ReadonlyMap<RowKey, number>): Anchor | undefined => {
    const top = element.scrollTop - rowsTop();
    // Who is at the beginning sees what comes there.
    if (top <= 0) return undefined;
    for (let index = heights.indexAt(top); index < heights.length; index++) {
      const found = next.get(rows.keyOf(index));
      if (found !== undefined) return { index: found, above: top - heights.offsetOf(index) };
    }
    return undefined;
  };

  const replace = (next: ListRows): void => {
    const indexOf = new Map(Array.from({ length: next.length }, (_, index) => [next.keyOf(index), index]));
    const anchor = scroller === undefined ? undefined : anchorIn(scroller, indexOf);
    if (target.index >= 0) target.index = indexOf.get(rows.keyOf(target.index)) ?? -1;
    if (target.index < 0) release();
    measured = new Map([...measured].filter(([key]) => indexOf.has(key)));
    rows = next;
    heights.resize(0);
    heights.resize(rows.length);
    if (scroller !== undefined) showAnchored(scroller, anchor);
  };

  /** What stays in view is the same element throughout, with its focus. */
  const showAnchored = ({ scrollTop, clientHeight }: HTMLElement, anchor: Anchor | undefined): void => {
    if (anchor !== undefined) nextTop = rowsTop() + heights.offsetOf(anchor.index) + anchor.above;
    const top = (nextTop ?? scrollTop) - rowsTop();
    showRange(top, top + clientHeight);
  };

  const scrollToTarget = (element: HTMLElement): void => {
    target.corrections--;
    const top = rowsTop() + heights.offsetOf(target.index);
    const bottom = top + heights.get(target.index);
    const margin = Math.min(80, element.clientHeight / 6);
    if (top < element.scrollTop + margin) element.scrollTop = top - margin;
    else if (bottom > element.scrollTop + element.clientHeight - margin) {
      element.scrollTop = Math.min(top - margin, bottom - element.clientHeight + margin);
    }
    if (target.focus) requestAnimationFrame(() => focusRow(target.index));
  };

  const focusRow = (index: number): void => {
    const item = scroller?.querySelector<HTMLElement>(`[data-index="${index}"]`);
    if (item?.contains(document.activeElement)) return;
    (item?.querySelector<HTMLElement>("[data-row-focus]") ?? item)?.focus({ preventScroll: true });
  };

  const onScroll = (): void => {
    if (scroller === undefined) return;
    const { scrollTop } = scroller;
    if (isAtEnd(scroller)) pinned.value = follow;
    // Growing is no scrolling: only upwards somebody leaves the end.
    else if (scrollTop < lastTop - 1) pinned.value = false;
    sync();
  };
  const release = (): void => {
    target.corrections = 0;
  };

  /** Notes what was measured; returns by how much everything at and below row `anchor` moved. */
  const note = (entries: readonly ResizeObserverEntry[], anchor: number): number => {
    let shift = 0;
    for (const { target: item, borderBoxSize } of entries) {
      const [size] = borderBoxSize;
      // An element that was just removed is measured as nothing.
      if (size === undefined || !item.isConnected) continue;
      const index = Number((item as HTMLElement).dataset["index"]);
      measured.set(rows.keyOf(index), size.blockSize);
      const change = heights.set(index, size.blockSize);
      if (index < anchor) shift += change;
    }
    return shift;
  };

  const observer = new ResizeObserver((entries) => {
    if (scroller === undefined) return;
    const shift = note(entries, heights.indexAt(scroller.scrollTop - rowsTop()));
    if (shift !== 0 && !pinned.peek()) {
      grow(scroller);
      scroller.scrollTop += shift;
    }
    sync();
  });
  const screen = new ResizeObserver(sync);

  return {
    handle: {
      pinned,
      away,
      toEnd() {
        release();
        pinned.value = follow;
        if (scroller !== undefined) scroller.scrollTop = scroller.scrollHeight;
      },
      show(index, { focus = false, align = "nearest" } = {}) {
        if (scroller === undefined || index < 0 || index >= heights.length) return;
        pinned.value = false;
        target = { index, corrections: CORRECTIONS, focus };
        if (align === "start") scroller.scrollTop = heights.offsetOf(index);
        sync();
      },
      firstVisible: () => (scroller === undefined ? 0 : heights.indexAt(scroller.scrollTop - rowsTop())),
    },
    take(next) {
      if (next.rows !== rows.rows) replace(next);
      else if (next.length !== rows.length) {
        rows = next;
        heights.resize(rows.length);
      }
    },
    sync,
    attach(element, onNearEnd) {
      scroller = element;
      loadMore = onNearEnd;
      element.addEventListener("scroll", onScroll, { passive: true });
      for (const name of ["wheel", "touchmove", "keydown"]) element.addEventListener(name, release, { passive: true });
      screen.observe(element);
      sync();
      return () => {
        element.removeEventListener("scroll", onScroll);
        for (const name of ["wheel", "touchmove", "keydown"]) element.removeEventListener(name, release);
        screen.disconnect();
        observer.disconnect();
        scroller = undefined;
      };
    },
    measure(item) {
      observer.observe(item, { box: "border-box" });
      return () => observer.unobserve(item);
    },
  };
}

function isAtEnd({ scrollTop, clientHeight, scrollHeight }: HTMLElement): boolean {
  return scrollTop + clientHeight >= scrollHeight - END;
}
