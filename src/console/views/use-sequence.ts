import { computed, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ListHandle } from "../list/list-view.js";
import type { FollowedExecution } from "../live/followed-execution.js";
import { visits } from "../route.js";

/** Brings the event with this sequence into view, as soon as it is there; 0 for none. `indexOf` tells in which row it is. */
export function useSequence(
  sequence: number,
  followed: FollowedExecution,
  list: ReadonlySignal<ListHandle | undefined>,
  indexOf: (sequence: number) => number,
): void {
  const done = useRef("");
  const there = useMemo(() => computed(() => followed.shownSequence.value >= sequence), [followed, sequence]).value;
  const wanted = `${sequence} ${visits.value}`;
  useEffect(() => {
    if (sequence === 0 || !there || done.current === wanted) return;
    done.current = wanted;
    list.peek()?.show(indexOf(sequence), { focus: true, align: "start" });
  }, [wanted, there]);
}
