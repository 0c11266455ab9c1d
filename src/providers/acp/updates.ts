import { PlanEntryState } from "../../../gen/ts/harnessruntime/v1/output_events_pb.js";
import type { Clock } from "../../core/clock.js";
import { cutText } from "../../core/cut-text.js";
import type { ProviderEvent } from "../../core/provider.js";
import { boundedObject, type Fields, fieldsOf, listOf, textOf } from "./json.js";
import { type MessageItem, MessageItems } from "./message-items.js";
import type { ToolCalls } from "./tool-calls.js";

const DATA_BYTES = 64 * 1024;
const PLAN_ENTRIES = 200;
const PLAN_ENTRY_BYTES = 1_000;
/** The longest name of an agent's that is shown whole. */
const NAME_BYTES = 200;

/** Turns the updates of one turn into events. No update is shown under two names. */
export class Updates {
  private item = 0;
  /** What the last text belonged to: another kind of update in between begins a new item. */
  private last = "";
  /** The first half of a character that an agent cut in two, until the other half comes. */
  private half = "";
  private readonly messages = new MessageItems();

  constructor(
    private readonly turn: number,
    private readonly calls: ToolCalls,
    private readonly clock: Clock,
  ) {}

  /** Returns the events for one `session/update`. */
  toEvents(update: Fields): ProviderEvent[] {
    const kind = textOf(update["sessionUpdate"]) ?? "unknown";
    switch (kind) {
      case "agent_message_chunk":
        return this.text("outputTextDelta", kind, update);
      case "agent_thought_chunk":
        return this.text("outputReasoningDelta", kind, update);
      case "tool_call":
      case "tool_call_update":
        this.last = kind;
        return this.calls.apply(update, kind === "tool_call");
      case "plan":
        return [{ case: "planUpdated", value: { entries: planEntries(update) } }];
      default:
        return [nativeEvent(kind, update)];
    }
  }

  private text(event: "outputTextDelta" | "outputReasoningDelta", kind: string, update: Fields): ProviderEvent[] {
    const content = fieldsOf(update["content"]);
    if (content["type"] !== "text") return [nativeEvent(kind, update)];
    const text = this.whole(textOf(content["text"]) ?? "");
    if (text === "") return [];
    const { itemId, insteadOf } = this.itemOf(kind, textOf(update["messageId"]), text);
    const restarted =
      insteadOf === undefined ? [] : [nativeEvent("message_restarted", { item_id: itemId, instead_of: insteadOf })];
    const value = { text, itemId };
    return [...restarted, event === "outputTextDelta" ? { case: event, value } : { case: event, value }];
  }

  /** Joins what was kept of the last chunk, and keeps half a character at the end of this one. */
  private whole(chunk: string): string {
    const text = `${this.half}${chunk}`;
    this.half = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : "";
    return this.half === "" ? text : text.slice(0, -1);
  }

  private itemOf(kind: string, messageId: string | undefined, text: string): MessageItem {
    if (messageId === undefined && this.last !== kind) this.item++;
    this.last = kind;
    return messageId === undefined
      ? { itemId: `${this.turn}.${this.item}` }
      : this.messages.itemOf(kind, messageId, text, this.clock.now());
  }
}

/** The event for something that only this protocol knows: `acp.` and the update's kind, with its data. */
export function nativeEvent(kind: string, { sessionUpdate: _, ...data }: Fields): ProviderEvent {
  const name = cutText(kind.toLowerCase().replaceAll(/[^a-z0-9_-]/g, "_"), NAME_BYTES / 2).text;
  return { case: "providerEvent", value: { type: `acp.${name}`, data: boundedObject(withoutBytes(data), DATA_BYTES) } };
}

/** Media that come inline are left out, but for their size: an event is no place for them. */
function withoutBytes(data: Fields): Fields {
  const content = fieldsOf(data["content"]);
  const bytes = content["data"];
  if (typeof bytes !== "string") return data;
  return { ...data, content: { ...content, data: undefined, size_bytes: Math.floor((bytes.length * 3) / 4) } };
}

const PLAN_STATES: Readonly<Record<string, PlanEntryState>> = {
  pending: PlanEntryState.PENDING,
  in_progress: PlanEntryState.IN_PROGRESS,
  completed: PlanEntryState.COMPLETED,
};

function planEntries({ entries }: Fields) {
  return listOf(entries)
    .slice(0, PLAN_ENTRIES)
    .map(({ content, priority, status }) => ({
      content: cutText(textOf(content) ?? "", PLAN_ENTRY_BYTES).text,
      priority: cutText(textOf(priority) ?? "", NAME_BYTES).text,
      state: PLAN_STATES[String(status)] ?? PlanEntryState.UNSPECIFIED,
    }));
}
