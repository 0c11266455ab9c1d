/** One line of a bench: what was measured, and what it is held to. */
export interface Line {
  readonly name: string;
  /** In the order of the columns. */
  readonly figures: Readonly<Record<string, string>>;
  /** Such as `>= 0.60 of the baseline`, and whether this run reached it. */
  readonly target?: readonly [text: string, reached: boolean];
}

/** Prints lines as a table. */
export function print(lines: readonly Line[]): void {
  for (const { name, figures, target } of lines) {
    const columns = Object.entries(figures).map(([key, value]) => `${key} ${value}`);
    const verdict = target === undefined ? "" : `   [target ${target[0]}: ${target[1] ? "reached" : "MISSED"}]`;
    console.log(`${name.padEnd(34)} ${columns.join("   ")}${verdict}`);
  }
}

/** The middle of an odd number of values. */
export function median(values: readonly number[]): number {
  return at(values, 0.5);
}

/** The value below which this part of all values lies. */
export function at(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function round(value: number, digits = 2): string {
  return value.toFixed(digits);
}

export function thousands(value: number): string {
  return Math.round(value).toLocaleString("en");
}
