import { join, resolve } from "node:path";
import type { Store } from "../core/store.js";
import type { FileSettings, ReaderReply, ReaderRequest, WriterReply, WriterRequest } from "./sqlite/messages.js";
import { SqliteStore } from "./sqlite/store.js";
import { ThreadLink } from "./sqlite/thread-link.js";
import { startThread } from "./sqlite/threads.js";

/** How a SQLite store is opened: by its file, or by the folder that has the file `harness.db`. */
export type SqliteStoreOptions = SqliteTuning &
  (
    | { readonly path: string; readonly dataDir?: never }
    /** Made, for this user alone, where there is none. */
    | { readonly dataDir: string; readonly path?: never }
  );

export interface SqliteTuning {
  /**
   * `full` (the default): what `append` resolved for outlives a power failure;
   * each commit waits for the disk. `normal`: it outlives the process, killed or
   * not, but a power failure may take the last commits; 5 times as many commits
   * a second where they are small.
   */
  readonly synchronous?: "full" | "normal";
  /**
   * For how long writes are held back to share a commit while more than 200 a
   * second arrive, in milliseconds, 0 to 5. The default, 0, never holds one back.
   * 2 saves a tenth to a third of the CPU under load, and adds as much to the latency.
   */
  readonly commitWindowMs?: number;
  /** The most bytes that the file may take, beyond which writes fail as on a full disk; no limit by default. */
  readonly maxBytes?: number;
}

/**
 * Opens a store in a SQLite file, for this process alone; makes the file where
 * there is none. Changes and reads happen in two threads, so that neither waits
 * for the other and the event loop for none. Fails with STORE_UNAVAILABLE, and
 * names the file and the way out, where it is in use, damaged, foreign, written
 * by a newer version, or may not be written.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, dataDir, synchronous = "full", commitWindowMs = 0, maxBytes } = options;
  if (!(commitWindowMs >= 0 && commitWindowMs <= 5)) {
    throw new RangeError(`commitWindowMs is from 0 to 5, not ${commitWindowMs}`);
  }
  const file = path === undefined ? join(resolve(dataDir), "harness.db") : resolve(path);
  const settings: FileSettings = { file, synchronous, maxBytes };
  const writer = new ThreadLink<WriterRequest, WriterReply>(startThread("writer", settings), file);
  const reader = new ThreadLink<ReaderRequest, ReaderReply>(startThread("reader", settings), file);
  try {
    await writer.opened();
    await reader.opened({ kind: "open" });
  } catch (error) {
    await Promise.all([reader.abandon(), writer.abandon()]);
    throw error;
  }
  return new SqliteStore({ writer, reader, file, commitWindowMs });
}
