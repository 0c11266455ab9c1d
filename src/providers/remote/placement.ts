import { supports } from "../../core/capability.js";
import type { Clock } from "../../core/clock.js";
import type { Instance } from "./instance.js";

/** How many conversations are remembered with the instance that ran them last, and how many versions. */
const MAX_REMEMBERED = 10_000;

/** Work that wants an instance. */
export interface PlacementRequest {
  readonly conversationId: string;
  /** Gives it to the instance: called once, or not at all. */
  readonly place: (instance: Instance) => void;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limitMs: number;
}

/**
 * Where executions go: to the instance with the least of its capacity in use,
 * and where the provider keeps conversations to the one that ran the last of the
 * conversation. Instances of an older version take nothing new while one of a
 * newer version is there.
 */
export class Placement {
  readonly #instances: () => Iterable<Instance>;
  /** The versions, in the order in which they were first seen. */
  readonly #versions: string[] = [];
  readonly #remembered = new Map<string, string>();
  readonly #waiting = new Set<() => void>();
  #current: string | undefined;

  constructor(instances: () => Iterable<Instance>) {
    this.#instances = instances;
  }

  /** Whether any instance takes executions. */
  get isOpen(): boolean {
    return [...this.#instances()].some((instance) => this.#takes(instance));
  }

  /** How many executions run at once: those that instances which take no more still have count too. */
  get capacity(): number {
    let capacity = 0;
    for (const instance of this.#instances()) {
      capacity += this.#takes(instance) ? Math.max(instance.capacity, instance.attempts.size) : instance.attempts.size;
    }
    return capacity;
  }

  /** Instances came, went or have room; returns one of the version that holds now, where any is there. */
  changed(version?: string): Instance | undefined {
    if (version !== undefined && !this.#versions.includes(version)) this.#versions.push(version);
    if (this.#versions.length > MAX_REMEMBERED) this.#versions.shift();
    const open = [...this.#instances()].filter(({ isOpen }) => isOpen);
    const newest = open.reduce<Instance | undefined>((best, instance) => {
      const isNewer = best === undefined || this.#ageOf(instance) > this.#ageOf(best);
      return isNewer ? instance : best;
    }, undefined);
    if (newest !== undefined) this.#current = newest.version;
    for (const look of [...this.#waiting]) look();
    return newest;
  }

  /** Places work on an instance that has room; false where there is none for `limitMs`, or the signal is aborted. */
  async place({ conversationId, place, signal, clock, limitMs }: PlacementRequest): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#placeNow(conversationId, place)) return true;
    return await new Promise((resolve) => {
      const done = (placed: boolean): void => {
        disarm();
        this.#waiting.delete(look);
        signal.removeEventListener("abort", giveUp);
        resolve(placed);
      };
      const giveUp = (): void => done(false);
      const look = (): void => {
        if (this.#placeNow(conversationId, place)) done(true);
      };
      const disarm = clock.after(limitMs, giveUp);
      this.#waiting.add(look);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Chooses and takes at once, so that no two are given the same room. */
  #placeNow(conversationId: string, place: (instance: Instance) => void): boolean {
    const instance = this.#best(conversationId);
    if (instance === undefined) return false;
    place(instance);
    this.#remember(conversationId, instance);
    return true;
  }

  /** Keeps which instance ran a conversation, where that matters. */
  #remember(conversationId: string, { id, manifest }: Instance): void {
    if (!supports(manifest, "conversation.continuity")) return;
    this.#remembered.delete(conversationId);
    this.#remembered.set(conversationId, id);
    if (this.#remembered.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#remembered.keys()) {
      this.#remembered.delete(oldest);
      return;
    }
  }

  #best(conversationId: string): Instance | undefined {
    const withRoom = [...this.#instances()].filter((instance) => this.#takes(instance) && instance.room > 0);
    const last = this.#remembered.get(conversationId);
    const remembered = withRoom.find(({ id }) => id === last);
    if (remembered !== undefined) return remembered;
    return withRoom.sort((a, b) => a.attempts.size / a.capacity - b.attempts.size / b.capacity)[0];
  }

  #takes(instance: Instance): boolean {
    return instance.isOpen && instance.version === this.#current;
  }

  #ageOf({ version }: Instance): number {
    return this.#versions.indexOf(version);
  }
}
