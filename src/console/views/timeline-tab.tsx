import { useEffect, useRef } from "preact/hooks";
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
  const cursor = useListCursor(length.value, "entry");
  useCommands([
    ...cursor.commands,
    { title: "Go to the end", keys: "G", run: () => cursor.handle()?.toEnd() },
    { title: "Go to the beginning", keys: "g g", run: () => cursor.handle()?.show(0, { align: "start" }) },
  ]);
  useSequence(
    sequence,
    followed,
    () => cursor.handle(),
    (wanted) => rowOf(rows, wanted),
  );
  return (
    <div class="timeline">
      <VirtualList
        label="Timeline"
        rows={rows}
        length={length.value}
        keyOf={keyOf}
        guess={guessHeight}
        render={(row) => <TimelineRowView row={row} followed={followed} />}
        follow
        onReady={cursor.ready}
      />
      <ToEnd handle={cursor.handle} length={length.value} />
    </div>
  );
}

/** Several rows may begin with one event. */
function keyOf(row: TimelineRow): string {
  return row.kind === "text" || row.kind === "reasoning"
    ? `${row.sequence}${row.kind}${row.continues}`
    : `${row.sequence}${row.kind}`;
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
export function ToEnd({ handle, length }: { readonly handle: () => ListHandle | undefined; readonly length: number }) {
  const list = handle();
  const seen = useRef(length);
  const pinned = list?.pinned.value ?? true;
  useEffect(() => {
    if (pinned) seen.current = length;
  }, [pinned, length]);
  if (pinned || list === undefined) return null;
  return (
    <button type="button" class="to-end" onClick={() => list.toEnd()}>
      <Icon name="down" />
      {length > seen.current ? "New below" : "To the end"}
    </button>
  );
}
