import type { Clock } from "./clock.js";
import type { Failure } from "./decide-run.js";
import type { HaltSwitch } from "./halt.js";
import type { Ids } from "./ids.js";
import type { HistoryItem, Log, Provider } from "./provider.js";
import type { ExecutionKey, Store } from "./store.js";
import type { Decide, Writer } from "./writer.js";

/** What a runner works on. */
export interface RunnerOptions {
  readonly key: ExecutionKey;
  readonly writer: Writer;
  readonly provider: Provider;
  readonly fence: number;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly node: string;
  readonly log: Log;
  readonly history: () => Promise<readonly HistoryItem[]>;
  readonly scratchDir: () => Promise<string>;
  /** `fresh` runs attempt 1; `resume` begins the next attempt; `reattach` goes on with one that never stopped. */
  readonly entry: "fresh" | "resume" | "reattach";
}

/** What a runner shares with the work that it owns. */
export interface WorkOptions extends RunnerOptions {
  readonly halt: HaltSwitch;
  /** Decides as the execution's owner. */
  readonly decide: <T>(decide: Decide<T>) => Promise<T>;
  /** Fails the execution. */
  readonly fail: (failure: Failure) => void;
}
