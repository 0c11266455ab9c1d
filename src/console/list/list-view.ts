import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { createHeights } from "./heights.js";

/** The rows that exist, from `first` to before `last`. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
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

/** What a list of rows knows about its screen. */
export interface ListView {
  readonly handle: ListHandle;
  offsetOf(index: number): number;
  resize(length: number): void;
  /** Follows the element that scrolls; returns what ends it. */
  attach(scroller: HTMLElement, onNearEnd: () => void): () => void;
  /** Measures a row's element from now on; returns what ends it. */
  measure(item: HTMLElement): () => void;
}

/** So many pixels beyond the screen there are rows as well. */
const OVERSCAN = 500;
/** So near to its end a list counts as at its end. */
const END = 24;
/** A row that is shown may turn out to be elsewhere once its neighbours are measured; so often it is corrected. */
const CORRECTIONS = 4;

export function createListView({
  guess,
  range,
  follow,
}: {
  readonly guess: (index: number) => number;
  readonly range: Signal<RowRange>;
  readonly follow: boolean;
}): ListView {
  const heights = createHeights(guess);
  const pinned = signal(follow);
  const away = signal(false);
  let scroller: HTMLElement | undefined;
  let nearEnd = (): void => undefined;
  let lastTop = 0;
  let target = { index: -1, corrections: 0, focus: false };

  /** Where the rows begin, below the scroller's own padding. */
  const rowsTop = (): number => (scroller?.firstElementChild as HTMLElement | null)?.offsetTop ?? 0;

  const sync = (): void => {
    if (scroller === undefined) return;
    grow(scroller);
    if (target.corrections > 0) scrollToTarget(scroller);
    else if (pinned.peek()) scroller.scrollTop = scroller.scrollHeight;
    lastTop = scroller.scrollTop;
    away.value = !isAtEnd(scroller);
    const top = lastTop - rowsTop();
    const bottom = top + scroller.clientHeight;
    showRange(heights.indexAt(Math.max(0, top - OVERSCAN)), heights.indexAt(bottom + OVERSCAN) + 1);
    if (bottom + scroller.clientHeight > heights.total) nearEnd();
  };

  const grow = (element: HTMLElement): void => {
    const { style } = element.firstElementChild as HTMLElement;
    const height = `${heights.total}px`;
    if (style.height !== height) style.height = height;
  };

  const showRange = (first: number, end: number): void => {
    const last = Math.min(end, heights.length);
    const shown = range.peek();
    if (shown.first !== first || shown.last !== last) range.value = { first, last };
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
    offsetOf: (index) => heights.offsetOf(index),
    resize(length) {
      heights.resize(length);
      sync();
    },
    attach(element, onNearEnd) {
      scroller = element;
      nearEnd = onNearEnd;
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
