import type { ReadonlySignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { useCommands } from "../commands.js";
import { useListCursor } from "../list/cursor.js";
import type { ListHandle } from "../list/list-view.js";
import { VirtualList } from "../list/virtual-list.js";
import type { FollowedExecution } from "../live/followed-execution.js";
import { Icon } from "../parts/icon.js";
import type { TimelineRow } from "../timeline/row.js";
import { TimelineRowView } from "../timeline/row-view.js";
import { useSequence } from "./use-sequence.js";

/** A log as people read it. */
export function TimelineTab({
  followed,
  sequence,
}: {
  readonly followed: FollowedExecution;
  readonly sequence: number;
}) {
  const { rows, length } = followed.timeline;
  const cursor = useListCursor({ rows, length: length.value, keyOf: (_, index) => index, what: "entry" });
  const render = useCallback((row: TimelineRow) => <TimelineRowView row={row} followed={followed} />, [followed]);
  useCommands([
    ...cursor.commands,
    { title: "Go to the end", keys: "G", run: () => cursor.list.peek()?.toEnd() },
    { title: "Go to the beginning", keys: "g g", run: () => cursor.list.peek()?.show(0, { align: "start" }) },
  ]);
  useSequence(sequence, followed, cursor.list, (wanted) => rowOf(rows, wanted));
  return (
    <div class="timeline">
      <VirtualList
        label="Timeline"
        rows={rows}
        length={length.value}
        guess={guessHeight}
        render={render}
        follow
        {...cursor.props}
      />
      <ToEnd list={cursor.list} length={length.value} />
    </div>
  );
}

const GUESSES: Readonly<Record<TimelineRow["kind"], number>> = {
  text: 40,
  reasoning: 40,
  tool: 44,
  plan: 120,
  action: 64,
  input: 60,
  turn: 44,
  artifact: 44,
  note: 34,
};

function guessHeight(row: TimelineRow): number {
  const lines = "text" in row && row.kind !== "note" ? Math.ceil(row.text.length / 90) : 0;
  return GUESSES[row.kind] + lines * 22;
}

/** The row that shows an event: the last one that begins at or before it. */
function rowOf(rows: readonly TimelineRow[], sequence: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.sequence ?? 0) <= sequence) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Leads back to the end of a list that was scrolled away from it. */
export function ToEnd({
  list,
  length,
}: {
  readonly list: ReadonlySignal<ListHandle | undefined>;
  readonly length: number;
}) {
  const handle = list.value;
  const seen = useRef(length);
  const pinned = handle?.pinned.value ?? true;
  useEffect(() => {
    if (pinned) seen.current = length;
  }, [pinned, length]);
  if (pinned || handle?.away.value !== true) return null;
  return (
    <button type="button" class="to-end" onClick={() => handle.toEnd()}>
      <Icon name="down" />
      {length > seen.current ? "New below" : "To the end"}
    </button>
  );
}
