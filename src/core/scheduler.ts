import { supports } from "./capability.js";
import type { LiveExecution } from "./live-execution.js";
import type { Provider } from "./provider.js";
import { availabilityOf, capacityOf, type Registry } from "./registry.js";

/** Takes one execution into work; resolves when it is over or let go. Rejects where it could not be taken. */
export type Launch = (live: LiveExecution, provider: Provider) => Promise<void>;

/**
 * Decides which queued execution runs next: oldest first, as many at once as the
 * provider has room for, and, where the provider keeps conversations, one at a
 * time in each.
 */
export class Scheduler {
  readonly #registry: Registry;
  readonly #launch: Launch;
  readonly #queues = new Map<string, LiveExecution[]>();
  readonly #active = new Map<string, number>();
  /** Conversations in which an execution of a provider that keeps them runs. */
  readonly #busy = new Set<string>();
  #paused = false;

  constructor(registry: Registry, launch: Launch) {
    this.#registry = registry;
    this.#launch = launch;
  }

  /** How many executions of a provider run now. */
  activeOf(providerId: string): number {
    return this.#active.get(providerId) ?? 0;
  }

  /** Adds a queued execution, then runs what may run. */
  enqueue(live: LiveExecution): void {
    const { providerId } = live.writer.committed.execution;
    const queue = this.#queues.get(providerId) ?? [];
    queue.push(live);
    this.#queues.set(providerId, queue);
    this.pump(providerId);
  }

  /** Takes an execution out, wherever it waits. */
  remove(live: LiveExecution): void {
    const queue = this.#queues.get(live.writer.committed.execution.providerId);
    const index = queue?.indexOf(live) ?? -1;
    if (index >= 0) queue?.splice(index, 1);
  }

  /** Runs an execution and counts it in while it runs; `launch` is how, where it did not wait here: a resumed one. */
  async run(live: LiveExecution, provider: Provider, launch = this.#launch): Promise<void> {
    const { id } = provider.manifest;
    const conversation = conversationOf(live, provider);
    this.#active.set(id, this.activeOf(id) + 1);
    if (conversation !== undefined) this.#busy.add(conversation);
    try {
      await launch(live, provider);
    } finally {
      this.#active.set(id, this.activeOf(id) - 1);
      if (conversation !== undefined) this.#busy.delete(conversation);
      // Others may wait for this conversation, whatever their provider.
      for (const waiting of conversation === undefined ? [id] : [...this.#queues.keys()]) this.pump(waiting);
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

  #mayRun(live: LiveExecution, provider: Provider): boolean {
    const conversation = conversationOf(live, provider);
    return conversation === undefined || !this.#busy.has(conversation);
  }
}

/** Names the conversation in which executions run one at a time; undefined where the provider keeps none. */
export function conversationOf(live: LiveExecution, provider: Provider): string | undefined {
  if (!supports(provider.manifest, "conversation.continuity")) return undefined;
  return `${live.key.tenantId}/${live.writer.committed.execution.conversationId}`;
}
