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

/** Refuses new work, ends streams, waits for what runs, and closes everything. */
export async function drain({ server, runtime, store }: Serving, graceMs: number): Promise<void> {
  await server.drain();
  await runtime.close(graceMs);
  await server.close();
  await store.close();
}

/** How long what runs has to end once nothing can be stored any more. */
const LOST_MS = 5_000;
/** How long streams have of it to be told RESUME_AFTER. */
const LOST_STREAMS_MS = 1_000;

/** Ends what runs where nothing can be stored any more, and has the process end soon, whatever still holds it. */
export async function endWithoutStore({ server, runtime, store }: Serving): Promise<void> {
  const end = async (): Promise<void> => {
    await server.drain(LOST_STREAMS_MS);
    await runtime.close(0);
    await server.close();
    await store.close();
  };
  await Promise.race([end().catch(() => undefined), delay(LOST_MS)]);
  setTimeout(() => process.exit(EXIT.failed), 100).unref();
}
