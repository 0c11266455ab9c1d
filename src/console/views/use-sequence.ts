import { type ReadonlySignal, useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ListHandle } from "../list/list-view.js";
import type { FollowedExecution } from "../live/followed-execution.js";

/** Brings the event with this sequence into view, as soon as it is there; 0 for none. `indexOf` tells in which row it is. */
export function useSequence(
  sequence: number,
  followed: FollowedExecution,
  list: ReadonlySignal<ListHandle | undefined>,
  indexOf: (sequence: number) => number,
): void {
  const done = useRef(0);
  const wanted = useRef(sequence);
  wanted.current = sequence;
  const there = useComputed(() => followed.shownSequence.value >= wanted.current).value;
  useEffect(() => {
    if (sequence === 0 || !there || done.current === sequence) return;
    done.current = sequence;
    list.peek()?.show(indexOf(sequence), { focus: true, align: "start" });
  }, [sequence, there]);
}
