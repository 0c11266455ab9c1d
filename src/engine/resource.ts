import { unbounded, type Within } from "./bound.js";
import { messageOf } from "./errors.js";
import { type HarnessIdentity, sessionKey } from "./identity.js";

/** Something that is made once in a scope and perhaps needs an end, such as a connection. */
export interface ScopedResource<T> {
  readonly value: T;
  /** Whose it is: what is the host's is never disposed here. */
  readonly ownership: "runtime" | "host";
  dispose?(): Promise<void> | void;
}

/** Resources that outlive a run: those of a session, and those of the host. */
export interface HarnessResourcePool {
  /**
   * Returns the resource of this id in a scope. Concurrent calls share one
   * `initialize`; one that rejects leaves nothing behind.
   */
  acquire<T>(scope: ResourceScope, id: string, initialize: () => Promise<ScopedResource<T>>): Promise<T>;
  /** Disposes a session's resources in reverse order; returns what went wrong. Those of the host scope stay for ever. */
  closeSession(identity: HarnessIdentity, sessionId: string): Promise<readonly string[]>;
}

export type ResourceScope =
  | { readonly kind: "host" }
  | { readonly kind: "session"; readonly identity: HarnessIdentity; readonly sessionId: string };

/** Returns a resource pool of this process. */
export function createResourcePool(): HarnessResourcePool {
  const host = new ResourceSet();
  const sessions = new Map<string, ResourceSet>();
  return {
    acquire(scope, id, initialize) {
      if (scope.kind === "host") return host.acquire(id, initialize);
      const key = sessionKey(scope.identity, scope.sessionId);
      const set = sessions.get(key) ?? new ResourceSet();
      sessions.set(key, set);
      return set.acquire(id, initialize);
    },
    async closeSession(identity, sessionId) {
      const key = sessionKey(identity, sessionId);
      const set = sessions.get(key);
      sessions.delete(key);
      return (await set?.dispose()) ?? [];
    },
  };
}

/** The resources of one scope, in the order in which they were asked for. */
export class ResourceSet {
  readonly #resources = new Map<string, Promise<ScopedResource<unknown>>>();
  #disposed = false;

  async acquire<T>(id: string, initialize: () => Promise<ScopedResource<T>>): Promise<T> {
    if (this.#disposed) throw new Error(`the scope of the resource ${JSON.stringify(id)} has ended`);
    let making = this.#resources.get(id) as Promise<ScopedResource<T>> | undefined;
    if (making === undefined) {
      making = initialize();
      this.#resources.set(id, making);
      const forget = (): void => {
        this.#resources.delete(id);
      };
      making.catch(forget);
    }
    return (await making).value;
  }

  /** Disposes everything in reverse order, what is still being made included; returns what went wrong. */
  async dispose(within: Within = unbounded): Promise<readonly string[]> {
    this.#disposed = true;
    const diagnostics: string[] = [];
    for (const [id, making] of [...this.#resources].reverse()) {
      try {
        await within(disposeOf(making));
      } catch (error) {
        diagnostics.push(`the resource ${JSON.stringify(id)} was not disposed: ${messageOf(error)}`);
      }
    }
    this.#resources.clear();
    return diagnostics;
  }
}

async function disposeOf(making: Promise<ScopedResource<unknown>>): Promise<void> {
  const resource = await making;
  if (resource.ownership === "runtime") await resource.dispose?.();
}
