import { canonicalJson } from "./canonical-json.js";
import type { ChatMessage } from "./message.js";
import type { SessionSnapshot } from "./session-store.js";

const ROLES: readonly ChatMessage["role"][] = ["system", "user", "assistant", "tool"];

/** The canonical history of a session: it only ever grows at its end, but for a turn that is undone as a whole. */
export class CanonicalHistory {
  #messages: ChatMessage[];
  #turnStart: number;

  constructor(snapshot: SessionSnapshot) {
    this.#messages = snapshot.replayable ? [...snapshot.history] : withoutOpenGroup(snapshot.history);
    this.#turnStart = this.#messages.length;
  }

  /** A copy that the caller may change. */
  copy(): ChatMessage[] {
    return structuredClone(this.#messages);
  }

  get length(): number {
    return this.#messages.length;
  }

  beginTurn(): void {
    this.#turnStart = this.#messages.length;
  }

  /** Takes back what the current turn added. */
  undoTurn(): void {
    this.#messages.length = this.#turnStart;
  }

  /** Adds copies of messages. Throws a TypeError where one is not a message or cannot be copied. */
  append(messages: readonly ChatMessage[]): void {
    for (const message of messages) checkMessage(message);
    this.#messages.push(...structuredClone(messages));
  }

  /** Takes a whole history that a driver returned. Throws a TypeError where it does not begin with this one exactly. */
  extendTo(history: readonly ChatMessage[]): void {
    const differs = this.#messages.findIndex(
      (message, index) => canonicalJson(message) !== canonicalJson(history[index]),
    );
    if (differs >= 0 || history.length < this.#messages.length) {
      throw new TypeError(
        `the returned history does not extend the canonical one: message ${Math.max(differs, 0)} differs`,
      );
    }
    this.append(history.slice(this.#messages.length));
  }
}

/** Throws a TypeError where a value is not a message. */
export function checkMessage(message: ChatMessage | undefined | null): void {
  if (typeof message !== "object" || message === null) throw new TypeError("a message must be an object");
  if (!ROLES.includes(message.role))
    throw new TypeError(`a message's role is ${JSON.stringify(message.role)}; it must be one of ${ROLES.join(", ")}`);
  if (typeof message.content !== "string" && !Array.isArray(message.content)) {
    throw new TypeError("a message's content must be a text or a list of parts");
  }
  if (message.role === "tool" && !message.toolCallId) throw new TypeError("a tool message must name its toolCallId");
}

/** Leaves out a tool group at the end whose calls were not all answered: no model accepts one. */
function withoutOpenGroup(history: readonly ChatMessage[]): ChatMessage[] {
  const start = history.findLastIndex((message) => message.role !== "tool");
  const calls = history[start]?.toolCalls ?? [];
  const answered = new Set(history.slice(start + 1).map(({ toolCallId }) => toolCallId));
  return calls.every(({ id }) => answered.has(id)) ? [...history] : history.slice(0, start);
}
