import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { orAborted } from "./pulse.js";

/** How long one frame of the screen may be spent on events, in milliseconds, so that scrolling stays at 60 a second. */
const BUDGET_MS = 6;
const SLICE = 250;
/** A reader that is so many events ahead of the page waits. */
const BACKLOG = 20_000;

/** Hands events to the page in slices, once for each frame of the screen. */
export interface EventIntake {
  /** Takes events, in order. Resolves when there is room for more; throws the signal's reason where that comes first. */
  push(events: readonly Event[], signal: AbortSignal): Promise<void>;
  close(): void;
}

/** `show` gets the events in order, each once. */
export function createEventIntake(show: (events: readonly Event[]) => void): EventIntake {
  let queue: Event[] = [];
  let taken = 0;
  let frame = 0;
  let room = Promise.withResolvers<void>();

  const drain = (): void => {
    frame = 0;
    const endMs = performance.now() + BUDGET_MS;
    while (taken < queue.length && performance.now() < endMs) {
      const slice = queue.slice(taken, taken + SLICE);
      taken += slice.length;
      show(slice);
    }
    if (taken === queue.length) {
      queue = [];
      taken = 0;
    } else frame = requestAnimationFrame(drain);
    if (queue.length - taken < BACKLOG) {
      room.resolve();
      room = Promise.withResolvers<void>();
    }
  };
  return {
    async push(events, signal) {
      if (events.length === 0) return;
      for (const event of events) queue.push(event);
      const full = queue.length - taken >= BACKLOG;
      if (frame === 0) frame = requestAnimationFrame(drain);
      // A page that is hidden has no frames, and no room, until it is seen again.
      if (full) await orAborted(room.promise, signal);
    },
    close() {
      cancelAnimationFrame(frame);
      room.resolve();
    },
  };
}
