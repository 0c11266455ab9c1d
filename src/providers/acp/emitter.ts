import type { ProviderContext, ProviderEvent } from "../../core/provider.js";

/** The most events of one append. */
const BATCH = 256;
/** With this much text not yet stored the agent is no longer read, in characters. */
const HIGH_WATER = 1024 * 1024;

/**
 * Hands a turn's events to the runtime in order: what comes while an append is
 * under way goes into the next one, deltas of one item joined, and of several
 * updates of one tool call only the last.
 */
export class Emitter {
  private queue: ProviderEvent[] = [];
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
    const joined = last === undefined ? undefined : join(last, event);
    if (joined === undefined) this.queue.push(event);
    else this.queue[this.queue.length - 1] = joined;
    this.queuedSize += sizeOf(event);
  }

  private async pump(): Promise<void> {
    // The events of one chunk of the agent's output come one by one before anything else runs.
    await Promise.resolve();
    while (this.queue.length > 0) {
      const batch = this.queue.splice(0, BATCH);
      if (this.queue.length === 0) this.queuedSize = 0;
      try {
        await this.context.emit(batch);
      } catch (error) {
        this.failure = error instanceof Error ? error : new Error(String(error));
        this.queue = [];
      }
    }
    this.pumping = undefined;
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

function sizeOf(event: ProviderEvent): number {
  return event.case === "outputTextDelta" || event.case === "outputReasoningDelta"
    ? (event.value.text?.length ?? 0)
    : 1_024;
}
