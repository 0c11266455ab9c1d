import { setTimeout as delay } from "node:timers/promises";
import type { Runtime } from "../../core/runtime.js";
import type { Store } from "../../core/store.js";
import type { RunningServer } from "../../server/server.js";
import { EXIT } from "../cli-error.js";

/** What runs, and is ended in this order. */
export interface Serving {
  readonly server: RunningServer;
  readonly runtime: Runtime;
  readonly store: Store;
}

/**
 * Resolves at the first SIGTERM or SIGINT; one that comes a second or more later calls `insist`. Those in between are
 * the same one: it reaches a whole group of processes, and npm and the launcher pass it on besides.
 */
export async function listenForStop(insist: () => void): Promise<string> {
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    const take = (signal: NodeJS.Signals): void => {
      if (firstMs !== undefined && performance.now() - firstMs >= SAME_SIGNAL_MS) insist();
      firstMs ??= performance.now();
      resolve(signal);
    };
    for (const name of SIGNALS) process.on(name, take);
  });
}

const SAME_SIGNAL_MS = 1_000;
const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** How long streams have to be told RESUME_AFTER, and what runs to end, in milliseconds. */
interface Graces {
  /** Default 5,000. */
  readonly streamsMs?: number;
  readonly runsMs: number;
}

/** Refuses new work, ends streams, waits for what runs, and closes everything. */
export async function drain({ server, runtime, store }: Serving, { streamsMs, runsMs }: Graces): Promise<void> {
  await server.drain(streamsMs);
  await runtime.close(runsMs);
  await server.close();
  await store.close();
}

/** How long everything has to end once nothing can be stored any more. */
const LOST_MS = 5_000;
/** How long streams have of it. */
const LOST_STREAMS_MS = 1_000;

/** Ends what runs where nothing can be stored any more, and has the process end soon, whatever still holds it. */
export async function endWithoutStore(serving: Serving): Promise<void> {
  const ended = drain(serving, { streamsMs: LOST_STREAMS_MS, runsMs: 0 }).catch(() => undefined);
  await Promise.race([ended, delay(LOST_MS)]);
  setTimeout(() => process.exit(EXIT.failed), 100).unref();
}
