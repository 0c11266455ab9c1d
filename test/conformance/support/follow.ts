import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import type { WatchEventsResponse } from "../../../gen/ts/harnessruntime/v1/event_stream_pb.js";

export type EventKind = NonNullable<Event["payload"]["case"]>;

/** Reads a stream of events in the background. */
export interface Follower {
  /** Everything so far, in the order it came. */
  readonly events: readonly Event[];
  readonly frames: readonly WatchEventsResponse[];
  /** Resolves with the first event of this kind, past or to come; rejects where the stream ends without one. */
  until(kind: EventKind): Promise<Event>;
  /** Resolves with all events when the stream ends. */
  end(): Promise<readonly Event[]>;
}

export function follow(stream: AsyncIterable<WatchEventsResponse>): Follower {
  const events: Event[] = [];
  const frames: WatchEventsResponse[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  const wake = (): void => {
    for (const run of waiting) run();
  };
  const reading = (async () => {
    try {
      for await (const frame of stream) {
        frames.push(frame);
        events.push(...frame.events);
        wake();
      }
    } finally {
      over = true;
      wake();
    }
  })();
  // Whoever waits for the end sees the error; without this a test that does not would end the process.
  reading.catch(() => undefined);

  return {
    events,
    frames,
    async until(kind) {
      for (;;) {
        const found = events.find((event) => event.payload.case === kind);
        if (found !== undefined) return found;
        if (over) {
          await reading;
          throw new Error(`the stream ended without ${kind}: ${kindsOf(events).join(" ")}`);
        }
        await new Promise<void>((resolve) => {
          const run = (): void => {
            waiting.delete(run);
            resolve();
          };
          waiting.add(run);
        });
      }
    },
    async end() {
      await reading;
      return events;
    },
  };
}

/** The kinds of events, in order. */
export function kindsOf(events: readonly Event[]): EventKind[] {
  return events.flatMap(({ payload }) => (payload.case === undefined ? [] : [payload.case]));
}

/** The payloads of all events of one kind. */
export function payloadsOf<K extends EventKind>(
  events: readonly Event[],
  kind: K,
): Extract<Event["payload"], { case: K }>["value"][] {
  return events.flatMap(({ payload }) => (payload.case === kind ? [payload.value as never] : []));
}
