import { cutText } from "../../core/cut-text.js";

/** The longest ID of an agent's that is shown whole, in bytes. */
const ID_BYTES = 180;
/** How much of a message's beginning is compared, in characters. */
const BEGINNING = 200;
/** The least time between a broken answer and the next one, in milliseconds: agents wait before they ask their model again. */
const PAUSE_MS = 1_000;

/** What a piece of a message belongs to. */
export interface MessageItem {
  readonly itemId: string;
  /** The item whose beginning it sends again: what that said is most likely superseded. */
  readonly insteadOf?: string;
}

/**
 * Finds the item of each piece of the messages that an agent gives IDs to. An
 * agent that asks its model anew after a broken answer sends the message's
 * beginning again under the same ID, and nothing says so but the pause before
 * it and the same words: what follows is an item of its own.
 */
export class MessageItems {
  private readonly messages = new Map<string, { beginning: string; lastMs: number; restarts: number }>();

  /** `kind`: reasoning and text may share an ID. */
  itemOf(kind: string, messageId: string, text: string, nowMs: number): MessageItem {
    const id = cutText(messageId, ID_BYTES).text;
    const key = `${kind} ${id}`;
    const message = this.messages.get(key) ?? { beginning: "", lastMs: nowMs, restarts: 0 };
    const before = itemIdOf(id, message.restarts);
    const isRestart = nowMs - message.lastMs >= PAUSE_MS && repeats(message.beginning, text);
    message.restarts += isRestart ? 1 : 0;
    message.beginning = `${isRestart ? "" : message.beginning}${text}`.slice(0, BEGINNING);
    message.lastMs = nowMs;
    this.messages.set(key, message);
    const itemId = itemIdOf(id, message.restarts);
    return isRestart ? { itemId, insteadOf: before } : { itemId };
  }
}

function itemIdOf(id: string, restarts: number): string {
  return restarts === 0 ? id : `${id}#${restarts + 1}`;
}

function repeats(beginning: string, text: string): boolean {
  return beginning !== "" && (beginning.startsWith(text) || text.startsWith(beginning));
}
