import { randomUUID } from "node:crypto";
import { type HarnessIdentity, sessionKey } from "./identity.js";

/**
 * Values that drivers put aside, owned by tenant, user and session. Kept in this
 * process only; the log has their descriptors.
 */
export class ArtifactValues {
  readonly #values = new Map<string, { readonly owner: string; readonly value: unknown }>();
  readonly #nextId: () => string;

  constructor(nextId: () => string = () => `art_${randomUUID()}`) {
    this.#nextId = nextId;
  }

  /** Keeps a copy of a value and returns its new id. Throws where it cannot be copied, such as a function. */
  put(identity: HarnessIdentity, sessionId: string, value: unknown): string {
    const id = this.#nextId();
    this.#values.set(id, { owner: sessionKey(identity, sessionId), value: structuredClone(value) });
    return id;
  }

  /** Returns a copy of a value; undefined where this owner has none of this id. */
  get(identity: HarnessIdentity, sessionId: string, id: string): unknown {
    const kept = this.#values.get(id);
    return kept?.owner === sessionKey(identity, sessionId) ? structuredClone(kept.value) : undefined;
  }
}
