import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../core/errors.js";
import { type HarnessIdentity, sessionKey } from "./identity.js";
import type { ChatMessage } from "./message.js";
import { RecentValues } from "./recent-values.js";

/** What sessions remember between runs. One writer at a time: whoever holds the session's lease. */
export interface HarnessSessionStore {
  /**
   * Takes a session. Rejects with CONVERSATION_CONFLICT while another run has it,
   * or, with `onConflict: "queue"`, waits for its turn; a queued wait ends with the signal.
   */
  acquire(identity: HarnessIdentity, sessionId: string, options?: AcquireOptions): Promise<SessionLease>;
}

export interface AcquireOptions {
  /** Default `refuse`. */
  readonly onConflict?: "refuse" | "queue";
  readonly signal?: AbortSignal;
}

/** The right to read and write one session. */
export interface SessionLease {
  /** Returns a copy of what was last committed; of a new session: nothing, at revision 0. */
  read(): Promise<SessionSnapshot>;
  /** Replaces it. Rejects where this lease never read it, or was released. */
  commit(snapshot: SessionSnapshot): Promise<void>;
  /** Gives the session to the next; idempotent. */
  release(): Promise<void>;
}

/** A session as stored. */
export interface SessionSnapshot {
  readonly history: readonly ChatMessage[];
  /** Conversations of parts of a driver, by the id they were recorded under. */
  readonly conversations: Readonly<Record<string, readonly ChatMessage[]>>;
  readonly state: Readonly<Record<string, unknown>>;
  /** How many runs of it succeeded. */
  readonly revision: number;
  /** False where the last run did not succeed: the history may end within a tool group. */
  readonly replayable: boolean;
  /** The role of the last model call: what its model left unread in the history, another's cannot read. Unset: none is known. */
  readonly lastRole?: string;
}

/** A session that nobody used yet. */
export const EMPTY_SESSION: SessionSnapshot = {
  history: [],
  conversations: {},
  state: {},
  revision: 0,
  replayable: true,
};

/** How much a session store in memory keeps. Beyond it the sessions that were not used for longest are forgotten: their next run begins them anew. */
export interface MemorySessionOptions {
  /** Default 10,000. */
  readonly maxSessions?: number;
  /** Of all sessions together, as they are kept, in bytes. The last used one is kept whatever its size. Default 256 MiB. */
  readonly maxBytes?: number;
}

/** Returns a session store in memory, which is lost with the process and {@link MemorySessionOptions bounded}. */
export function createMemorySessions({
  maxSessions = 10_000,
  maxBytes = 256 * 1024 * 1024,
}: MemorySessionOptions = {}): HarnessSessionStore {
  const kept = new RecentValues(maxSessions, maxBytes);
  return lockedSessions({
    get: async (key) => kept.get(key) as SessionSnapshot | undefined,
    set: async (key, snapshot) => kept.set(key, snapshot),
  });
}

/** Where sessions are kept, by their keys; it is never asked for one session by two at once. */
export interface SessionSnapshots {
  /** Returns a copy. */
  get(key: string): Promise<SessionSnapshot | undefined>;
  set(key: string, snapshot: SessionSnapshot): Promise<void>;
}

/** Returns a session store of this process: it alone gives out the leases. */
export function lockedSessions(snapshots: SessionSnapshots): HarnessSessionStore {
  return new LockedSessions(snapshots);
}

interface Holder {
  readonly waiting: (() => void)[];
}

class LockedSessions implements HarnessSessionStore {
  readonly #snapshots: SessionSnapshots;
  readonly #held = new Map<string, Holder>();

  constructor(snapshots: SessionSnapshots) {
    this.#snapshots = snapshots;
  }

  async acquire(identity: HarnessIdentity, sessionId: string, options: AcquireOptions = {}): Promise<SessionLease> {
    const key = sessionKey(identity, sessionId);
    const holder = this.#held.get(key);
    if (holder === undefined) {
      this.#held.set(key, { waiting: [] });
      return this.#lease(key);
    }
    if (options.onConflict !== "queue") throw sessionConflict(sessionId);
    await waitInLine(holder, options.signal);
    return this.#lease(key);
  }

  #lease(key: string): SessionLease {
    let wasRead = false;
    let released = false;
    return {
      read: async () => {
        wasRead = true;
        return (await this.#snapshots.get(key)) ?? structuredClone(EMPTY_SESSION);
      },
      commit: async (snapshot) => {
        if (!wasRead) throw new Error("a session must be read before it is committed");
        if (released) throw new Error("the session's lease was released");
        await this.#snapshots.set(key, snapshot);
      },
      release: async () => {
        if (released) return;
        released = true;
        const next = this.#held.get(key)?.waiting.shift();
        if (next === undefined) this.#held.delete(key);
        else next();
      },
    };
  }
}

/** The error of a session that another run has. */
export function sessionConflict(sessionId: string): HarnessError {
  return new HarnessError(
    ErrorReason.CONVERSATION_CONFLICT,
    `another run has the session ${JSON.stringify(sessionId)}; wait for its end, or start with onConflict "queue"`,
    { session_id: sessionId },
  );
}

function waitInLine(holder: Holder, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const leave = (): void => {
      holder.waiting.splice(holder.waiting.indexOf(enter), 1);
      reject(signal?.reason);
    };
    const enter = (): void => {
      signal?.removeEventListener("abort", leave);
      resolve();
    };
    holder.waiting.push(enter);
    signal?.addEventListener("abort", leave, { once: true });
    return undefined;
  });
}
