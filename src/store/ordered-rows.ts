import type { Position } from "./page.js";

/** What {@link OrderedRows} sorts by. */
export interface OrderedRow {
  readonly createTimeMs: number;
  readonly id: string;
}

/** Rows in memory by create time, then ID. */
export class OrderedRows<T extends OrderedRow> {
  #rows: T[] = [];

  /** Adds a row; cheap where it is the newest, as it nearly always is. */
  add(row: T): void {
    this.#rows.splice(this.#indexOf({ order: row.createTimeMs, id: row.id }), 0, row);
  }

  removeAll(isRemoved: (row: T) => boolean): void {
    this.#rows = this.#rows.filter((row) => !isRemoved(row));
  }

  /** The rows that match, newest first, beginning after `position` where there is one. */
  *newestFirst(position: Position | undefined, matches: (row: T) => boolean): Generator<T> {
    for (let index = position === undefined ? this.#rows.length : this.#indexOf(position); index > 0; index--) {
      const row = this.#rows[index - 1];
      if (row !== undefined && matches(row)) yield row;
    }
  }

  /** All rows, oldest first. */
  [Symbol.iterator](): Iterator<T> {
    return this.#rows.values();
  }

  /** The index of the first row that is not older than `position`. */
  #indexOf(position: Position): number {
    const newest = this.#rows.at(-1);
    if (newest === undefined || isOlder(newest, position)) return this.#rows.length;
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const row = this.#rows[middle];
      if (row !== undefined && isOlder(row, position)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isOlder(row: OrderedRow, { order, id }: Position): boolean {
  return row.createTimeMs < order || (row.createTimeMs === order && row.id < id);
}
