import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { rowBase, type TextRow, type TimelineRow, touch } from "./row.js";

/** A row of so many characters ends at the next line's end, */
const ENOUGH = 1_000;
/** one of so many at the next word's end, */
const LONG = 2_000;
/** and one of so many at once. */
const TOO_LONG = 3_000;

/** Adds a delta to the last row where it goes on from it, in new rows where that would become too long. */
export function appendText(
  rows: TimelineRow[],
  event: Event,
  kind: TextRow["kind"],
  { text, itemId }: { readonly text: string; readonly itemId: string },
): void {
  let row = lastText(rows, event, kind, itemId) ?? startText(rows, event, kind, itemId, false);
  let whole = row.text + text;
  for (let end = cutAt(whole); end < whole.length; end = cutAt(whole)) {
    row.text = whole.slice(0, end);
    touch(row);
    whole = whole.slice(end);
    row = startText(rows, event, kind, itemId, true);
  }
  row.text = whole;
  touch(row);
}

function lastText(
  rows: readonly TimelineRow[],
  { turn }: Event,
  kind: TextRow["kind"],
  itemId: string,
): TextRow | undefined {
  const last = rows.at(-1);
  const same = last?.kind === kind && last.turn === turn && last.itemId === itemId;
  return same ? last : undefined;
}

function startText(
  rows: TimelineRow[],
  event: Event,
  kind: TextRow["kind"],
  itemId: string,
  continues: boolean,
): TextRow {
  const row: TextRow = { ...rowBase(event), kind, itemId, continues, text: "" };
  rows.push(row);
  return row;
}

/** Where a row with this text ends; the text's length where it needs no end. Never inside a character as people see it. */
function cutAt(text: string): number {
  if (text.length <= ENOUGH) return text.length;
  const line = text.indexOf("\n", ENOUGH);
  if (line >= 0 && line < TOO_LONG) return line + 1;
  if (text.length <= LONG) return text.length;
  const word = text.lastIndexOf(" ", TOO_LONG);
  if (word >= LONG) return word + 1;
  return text.length <= TOO_LONG ? text.length : graphemeStart(text, TOO_LONG);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** As far as a character as people see it is looked back for. */
const LOOK_BACK = 200;

/** The last start of a character at or before `at`. */
function graphemeStart(text: string, at: number): number {
  const from = at - LOOK_BACK;
  let start = at;
  for (const { index } of graphemes.segment(text.slice(from, at + LOOK_BACK))) {
    if (from + index > at) break;
    start = from + index;
  }
  return start;
}
