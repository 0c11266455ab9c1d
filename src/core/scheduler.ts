import { supports } from "./capability.js";
import { count } from "./count.js";
import { isTerminal } from "./lifecycle.js";
import type { LiveExecution } from "./live-execution.js";
import type { Provider } from "./provider.js";
import { availabilityOf, capacityOf, type Registry } from "./registry.js";

/**
 * Takes one execution into work; resolves when it is over or let go, with true
 * where it could not be taken and is tried again, so that its place is kept.
 */
export type Launch = (live: LiveExecution, provider: Provider) => Promise<boolean>;

/** What an execution takes up while it runs, is taken up again, or is about to be. */
interface Place {
  readonly providerId: string;
  /** The conversation that it keeps for itself; undefined where its provider keeps none. */
  readonly conversation: string | undefined;
  launched: boolean;
}

/**
 * Decides which queued execution runs next: oldest first, as many at once as the
 * provider has room for, and, where the provider keeps conversations, one at a
 * time in each.
 */
export class Scheduler {
  readonly #registry: Registry;
  readonly #launch: Launch;
  readonly #queues = new Map<string, LiveExecution[]>();
  readonly #places = new Map<LiveExecution, Place>();
  /** How many places each provider's executions take. */
  readonly #active = new Map<string, number>();
  /** How many places there are in each conversation: after a restart with another configuration more than one. */
  readonly #busy = new Map<string, number>();
  readonly #ages = new WeakMap<LiveExecution, number>();
  #nextAge = 0;
  #paused = false;

  constructor(registry: Registry, launch: Launch) {
    this.#registry = registry;
    this.#launch = launch;
  }

  /** How many executions of a provider run now. */
  activeOf(providerId: string): number {
    return this.#active.get(providerId) ?? 0;
  }

  /** Adds a queued execution where its age puts it, gives back the place that it kept, then runs what may run. */
  enqueue(live: LiveExecution): void {
    const { providerId } = live.writer.committed.execution;
    const queue = this.#queues.get(providerId) ?? [];
    const age = this.#ageOf(live);
    queue.splice(queue.findLastIndex((waiting) => this.#ageOf(waiting) < age) + 1, 0, live);
    this.#queues.set(providerId, queue);
    this.#vacate(live);
    this.pump(providerId);
  }

  /** Takes an execution out, wherever it waits. */
  remove(live: LiveExecution): void {
    const queue = this.#queues.get(live.writer.committed.execution.providerId);
    const index = queue?.indexOf(live) ?? -1;
    if (index >= 0) queue?.splice(index, 1);
    if (this.#places.get(live)?.launched === false) this.#vacate(live);
  }

  /**
   * Takes a place for an execution that ran before and is about to be taken up
   * again, until it is over: nothing else runs in its conversation meanwhile, and
   * it counts in what its provider has room for. The conversation of a provider
   * that is not there is kept too, since it may come back.
   */
  occupy(live: LiveExecution): void {
    if (this.#places.has(live)) return;
    const { providerId } = live.writer.committed.execution;
    const conversation = conversationOf(live, this.#registry.find(providerId));
    this.#places.set(live, { providerId, conversation, launched: false });
    count(this.#active, providerId, 1);
    if (conversation !== undefined) count(this.#busy, conversation, 1);
  }

  /** Runs an execution and counts it in while it runs; `launch` is how, where it did not wait here: a resumed one. */
  async run(live: LiveExecution, provider: Provider, launch = this.#launch): Promise<void> {
    this.occupy(live);
    this.#setLaunched(live, true);
    let again = false;
    try {
      again = await launch(live, provider);
    } finally {
      this.#setLaunched(live, false);
      if (!again || isTerminal(live.writer.committed.execution.state)) this.#vacate(live);
    }
  }

  /** Runs what may run of a provider's queue. */
  pump(providerId: string): void {
    const provider = this.#registry.find(providerId);
    const queue = this.#queues.get(providerId);
    if (this.#paused || provider === undefined || queue === undefined || !availabilityOf(provider).available) return;
    while (this.activeOf(providerId) < capacityOf(provider)) {
      const index = queue.findIndex((live) => this.#mayRun(live, provider));
      const [live] = index < 0 ? [] : queue.splice(index, 1);
      if (live === undefined) return;
      void this.run(live, provider);
    }
  }

  /** Runs nothing more. */
  pause(): void {
    this.#paused = true;
  }

  /** Which one it was of those that ever waited here: one that is tried again waits where it did. */
  #ageOf(live: LiveExecution): number {
    const age = this.#ages.get(live) ?? this.#nextAge++;
    this.#ages.set(live, age);
    return age;
  }

  #mayRun(live: LiveExecution, provider: Provider): boolean {
    const conversation = conversationOf(live, provider);
    return conversation === undefined || !this.#busy.has(conversation);
  }

  #setLaunched(live: LiveExecution, launched: boolean): void {
    const place = this.#places.get(live);
    if (place !== undefined) place.launched = launched;
  }

  #vacate(live: LiveExecution): void {
    const place = this.#places.get(live);
    if (place === undefined) return;
    const { providerId, conversation } = place;
    this.#places.delete(live);
    count(this.#active, providerId, -1);
    if (conversation !== undefined) count(this.#busy, conversation, -1);
    // Others may wait for this conversation, whatever their provider.
    for (const waiting of conversation === undefined ? [providerId] : [...this.#queues.keys()]) this.pump(waiting);
  }
}

/** Names the conversation in which executions run one at a time; undefined where the provider is known and keeps none. */
export function conversationOf(live: LiveExecution, provider: Provider | undefined): string | undefined {
  if (provider !== undefined && !supports(provider.manifest, "conversation.continuity")) return undefined;
  return `${live.key.tenantId}/${live.writer.committed.execution.conversationId}`;
}
