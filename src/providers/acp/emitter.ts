import type { ProviderContext, ProviderEvent } from "../../core/provider.js";

/** The most events of one append. */
const BATCH = 256;
/** With this much not yet stored the agent is no longer read, and an append takes no more than this, in characters. */
const HIGH_WATER = 1024 * 1024;

interface Queued {
  readonly event: ProviderEvent;
  readonly size: number;
}

/**
 * Hands a turn's events to the runtime in order: what comes while an append is
 * under way goes into the next one, deltas of one item joined, and of several
 * updates of one tool call only the last.
 */
export class Emitter {
  private queue: Queued[] = [];
  private queuedSize = 0;
  private pumping: Promise<void> | undefined;
  private failure: Error | undefined;

  constructor(private readonly context: Pick<ProviderContext, "emit">) {}

  push(...events: readonly ProviderEvent[]): void {
    if (this.failure !== undefined) return;
    for (const event of events) this.enqueue(event);
    this.pumping ??= this.pump();
  }

  /** Resolves once everything pushed so far is stored. Rejects with the first refusal of the runtime. */
  async flush(): Promise<void> {
    while (this.pumping !== undefined) await this.pumping;
    if (this.failure !== undefined) throw this.failure;
  }

  /** Resolves when there is room again. Undefined: there is. */
  ready(): Promise<void> | undefined {
    return this.queuedSize > HIGH_WATER ? this.pumping : undefined;
  }

  private enqueue(event: ProviderEvent): void {
    const last = this.queue.at(-1);
    const joined = last === undefined ? undefined : join(last.event, event);
    if (joined === undefined || last === undefined) {
      const size = sizeOf(event);
      this.queue.push({ event, size });
      this.queuedSize += size;
      return;
    }
    // The joined text is not counted anew for each of its pieces.
    const size = joined === event ? sizeOf(event) : last.size + sizeOf(event);
    this.queue[this.queue.length - 1] = { event: joined, size };
    this.queuedSize += size - last.size;
  }

  private async pump(): Promise<void> {
    // The events of one chunk of the agent's output come one by one before anything else runs.
    await Promise.resolve();
    while (this.queue.length > 0) {
      try {
        await this.context.emit(this.takeBatch());
      } catch (error) {
        this.failure = error instanceof Error ? error : new Error(String(error));
        this.queue = [];
        this.queuedSize = 0;
      }
    }
    this.pumping = undefined;
  }

  private takeBatch(): ProviderEvent[] {
    let count = 0;
    let size = 0;
    while (count < Math.min(BATCH, this.queue.length) && (count === 0 || size < HIGH_WATER)) {
      size += this.queue[count++]?.size ?? 0;
    }
    this.queuedSize -= size;
    return this.queue.splice(0, count).map(({ event }) => event);
  }
}

/** Returns one event that says what two in a row do; undefined where both are needed. */
function join(first: ProviderEvent, second: ProviderEvent): ProviderEvent | undefined {
  return replaces(first, second) ? second : joinDeltas(first, second);
}

/** Whether the second says all that the first does: a plan and a call's update are always whole. */
function replaces(first: ProviderEvent, second: ProviderEvent): boolean {
  if (first.case === "planUpdated") return second.case === "planUpdated";
  if (first.case !== "toolCallUpdated" || second.case !== "toolCallUpdated") return false;
  return first.value.toolCallId === second.value.toolCallId;
}

function joinDeltas(first: ProviderEvent, second: ProviderEvent): ProviderEvent | undefined {
  if (first.case === "outputTextDelta" && second.case === "outputTextDelta") {
    const value = joinText(first.value, second.value);
    return value && { case: "outputTextDelta", value };
  }
  if (first.case === "outputReasoningDelta" && second.case === "outputReasoningDelta") {
    const value = joinText(first.value, second.value);
    return value && { case: "outputReasoningDelta", value };
  }
  return undefined;
}

interface Delta {
  readonly text?: string;
  readonly itemId?: string;
}

function joinText(first: Delta, second: Delta): { text: string; itemId: string } | undefined {
  const { text = "", itemId = "" } = first;
  return itemId === (second.itemId ?? "") ? { text: `${text}${second.text ?? ""}`, itemId } : undefined;
}

/** About how many characters an event has. */
function sizeOf({ value }: ProviderEvent): number {
  return charactersOf(value);
}

function charactersOf(value: unknown): number {
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  if (typeof value !== "object" || value === null) return 8;
  return Object.entries(value).reduce((sum, [name, part]) => sum + name.length + charactersOf(part), 0);
}
