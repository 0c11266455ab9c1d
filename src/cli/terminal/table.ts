import { stripVTControlCharacters } from "node:util";
import { paint } from "./style.js";

/** Returns rows in aligned columns below their titles, without the white space at the ends of lines. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  return aligned([titles.map((title) => paint("bold", title)), ...rows]);
}

/** Returns names and values, a pair a line; pairs without a value are left out. */
export function pairs(values: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(values).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return aligned(present.map(([name, value]) => [paint("dim", name), value]));
}

/** Returns how many columns text takes on a terminal, colours left out. */
export function widthOf(cell: string): number {
  return [...stripVTControlCharacters(cell)].length;
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>((sofar, row) => {
    return row.map((cell, column) => Math.max(widthOf(cell), sofar[column] ?? 0));
  }, []);
  const lines = rows.map((row) => {
    const cells = row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - widthOf(cell)));
    return cells.join("  ").trimEnd();
  });
  return lines.map((line) => `${line}\n`).join("");
}
