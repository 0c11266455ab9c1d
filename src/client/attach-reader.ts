import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { FollowFrame } from "./follow.js";

/** The frames of a log, fetched ahead of whoever reads them. */
export interface Reader extends AsyncIterable<Event> {
  frames(): AsyncIterable<FollowFrame>;
  /** Fetches on even when nobody reads, as long as `urgent` says so: call it when that may have changed. */
  wake(): void;
  /** Resolves when the log was fetched to its end; rejects with what it failed with. */
  readonly fetched: Promise<void>;
}

/** How many frames are fetched ahead; each is at most 1 MiB. */
const AHEAD = 16;

/** Begins to fetch. `urgent` says whether to fetch on with the buffer full; the signal is the one that ends the source. */
export function readAhead(source: AsyncIterable<FollowFrame>, signal: AbortSignal, urgent = () => false): Reader {
  const buffer: FollowFrame[] = [];
  let changed = Promise.withResolvers<void>();
  let ended = false;

  const wake = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  const fetchAll = async (): Promise<void> => {
    try {
      for await (const frame of source) {
        buffer.push(frame);
        wake();
        while (buffer.length >= AHEAD && !urgent() && !signal.aborted) await changed.promise;
      }
    } finally {
      ended = true;
      wake();
    }
  };
  signal.addEventListener("abort", wake, { once: true });
  const fetched = fetchAll().finally(() => signal.removeEventListener("abort", wake));
  // Whoever reads gets the error; nobody need read.
  fetched.catch(() => undefined);

  async function* frames(): AsyncGenerator<FollowFrame, void> {
    for (;;) {
      const frame = buffer.shift();
      if (frame !== undefined) {
        wake();
        yield frame;
      } else if (ended) {
        return await fetched;
      } else {
        await changed.promise;
      }
    }
  }
  async function* events(): AsyncGenerator<Event, void> {
    for await (const frame of frames()) yield* frame.events;
  }
  return { frames, wake, fetched, [Symbol.asyncIterator]: events };
}
