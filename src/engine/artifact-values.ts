import { randomUUID } from "node:crypto";
import { type HarnessIdentity, sessionKey } from "./identity.js";
import { RecentValues } from "./recent-values.js";

/**
 * Values that drivers put aside, owned by tenant, user and session. Kept in this
 * process only, the ones used last up to a size in bytes; the log has their descriptors.
 */
export class ArtifactValues {
  readonly #values: RecentValues;
  readonly #nextId: () => string;

  constructor(maxBytes: number, nextId: () => string = () => `art_${randomUUID()}`) {
    this.#values = new RecentValues(Number.POSITIVE_INFINITY, maxBytes);
    this.#nextId = nextId;
  }

  /** Keeps a copy of a value and returns its new id. Throws where it cannot be copied, such as a function. */
  put(identity: HarnessIdentity, sessionId: string, value: unknown): string {
    const id = this.#nextId();
    this.#values.set(keyOf(identity, sessionId, id), value);
    return id;
  }

  /** Returns a copy of a value; undefined where this owner has none of this id, or it was forgotten. */
  get(identity: HarnessIdentity, sessionId: string, id: string): unknown {
    return this.#values.get(keyOf(identity, sessionId, id));
  }

  /** Forgets all of a session. */
  closeSession(identity: HarnessIdentity, sessionId: string): void {
    this.#values.deleteAll(keyOf(identity, sessionId, ""));
  }
}

function keyOf(identity: HarnessIdentity, sessionId: string, id: string): string {
  return `${sessionKey(identity, sessionId)}${id}`;
}
