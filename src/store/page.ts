/** Where a page ended: the sort key of its last item. */
export interface Position {
  /** The create time in milliseconds, or the item's number where a list keeps the order of writing. */
  readonly order: number;
  /** Tells items with the same `order` apart; empty where there are none. */
  readonly id: string;
}

/** A page of a list before its position is made opaque. */
export interface RawPage<T> {
  readonly items: readonly T[];
  /** Where the next page begins, exclusive; undefined on the last page. */
  readonly next: Position | undefined;
}

/** A row as {@link takePage} wants to see it. */
export interface Entry<T> {
  readonly item: T;
  readonly sizeBytes: number;
  readonly position: Position;
}

/** A page ends early once it holds so many bytes, so that no list of large items fills the memory. */
const PAGE_BYTES = 2 * 1024 * 1024;

/**
 * Takes a page from the front of `rows`, which are in the list's order and go
 * on beyond the page: at most `pageSize`, fewer where they are large, and at
 * least one where there is any. Reads one row more than it takes.
 */
export function takePage<R, T>(pageSize: number, rows: Iterable<R>, entryOf: (row: R) => Entry<T>): RawPage<T> {
  const items: T[] = [];
  let sizeBytes = 0;
  let last: Position | undefined;
  for (const row of rows) {
    const entry = entryOf(row);
    if (items.length === pageSize || (items.length > 0 && sizeBytes + entry.sizeBytes > PAGE_BYTES)) {
      return { items, next: last };
    }
    items.push(entry.item);
    sizeBytes += entry.sizeBytes;
    last = entry.position;
  }
  return { items, next: undefined };
}
