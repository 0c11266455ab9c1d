/** The heights of the rows of a long list, of which few are ever measured: the rest are guessed. */
export interface Heights {
  readonly length: number;
  /** The sum of all heights. */
  readonly total: number;
  /** Makes the list so many rows long. Only ever longer, but for 0, which forgets everything. */
  resize(length: number): void;
  get(index: number): number;
  /** Notes a row's height; returns by how much it differs from before. */
  set(index: number, height: number): number;
  /** Where a row begins: the sum of the heights before it. */
  offsetOf(index: number): number;
  /** The row at an offset; the last one for offsets beyond the end, 0 for an empty list. */
  indexAt(offset: number): number;
}

/** All operations take logarithmic time: sums are kept in a binary indexed tree. `guess` tells the height of a row that was never measured. */
export function createHeights(guess: (index: number) => number): Heights {
  let heights: number[] = [];
  /** At i the sum of the heights (i - lowbit(i), i], counted from 1. */
  let sums: number[] = [0];

  const prefix = (index: number): number => {
    let sum = 0;
    for (let i = index; i > 0; i -= i & -i) sum += at(sums, i);
    return sum;
  };
  const push = (height: number): void => {
    heights.push(height);
    const i = heights.length;
    sums.push(height + prefix(i - 1) - prefix(i - (i & -i)));
  };
  return {
    get length() {
      return heights.length;
    },
    get total() {
      return prefix(heights.length);
    },
    resize(length) {
      if (length < heights.length) {
        heights = [];
        sums = [0];
      }
      while (heights.length < length) push(guess(heights.length));
    },
    get: (index) => at(heights, index),
    set(index, height) {
      const change = height - at(heights, index);
      if (change === 0) return 0;
      heights[index] = height;
      for (let i = index + 1; i < sums.length; i += i & -i) sums[i] = at(sums, i) + change;
      return change;
    },
    offsetOf: (index) => prefix(Math.min(index, heights.length)),
    indexAt(offset) {
      let index = 0;
      let left = offset;
      for (let step = 2 ** Math.floor(Math.log2(Math.max(1, heights.length))); step > 0; step >>= 1) {
        const next = index + step;
        if (next <= heights.length && at(sums, next) <= left) {
          index = next;
          left -= at(sums, next);
        }
      }
      return Math.max(0, Math.min(index, heights.length - 1));
    },
  };
}

function at(values: readonly number[], index: number): number {
  return values[index] ?? 0;
}
