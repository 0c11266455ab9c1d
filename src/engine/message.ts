import type { JsonValue } from "@bufbuild/protobuf";

/** What a user or a model says: plain text, or parts in order. */
export type MessageContent = string | readonly MessagePart[];

/** One piece of a {@link MessageContent}. */
export type MessagePart = TextPart | ImagePart | FilePart;

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** A picture, by reference or inline. */
export interface ImagePart {
  readonly type: "image";
  /** The bytes, or an `https:` or `data:` URL that the model's provider can read. */
  readonly image: Uint8Array | string;
  /** Such as `image/png`. Unset: `image/*`. */
  readonly mediaType?: string;
}

/** Any other file, by reference or inline. */
export interface FilePart {
  readonly type: "file";
  /** The bytes, or a URL that the model's provider can read. */
  readonly data: Uint8Array | string;
  readonly mediaType: string;
  readonly filename?: string;
}

/**
 * One message of a conversation with a model. An assistant message with
 * `toolCalls` and the tool messages that answer them form a tool group.
 */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: MessageContent;
  /** Assistant only: the calls that the model asked for. */
  readonly toolCalls?: readonly ToolCall[];
  /** Tool only: the call that this message answers. */
  readonly toolCallId?: string;
  /** Tool only: the name of the tool that answered. */
  readonly toolName?: string;
  /**
   * What the model's provider wants back unread, such as signed reasoning. Opaque
   * to the engine: a history that holds any cannot be sent to another model role.
   */
  readonly providerExtras?: unknown;
  /** Set by the engine on text that a context source retrieved; never part of the canonical history. */
  readonly sourceId?: string;
}

/** A model's wish to call a tool. */
export interface ToolCall {
  /** Unique within the run. */
  readonly id: string;
  readonly name: string;
  /** The arguments as a JSON value; whether they fit the tool's schema is checked when the call is dispatched. */
  readonly arguments: unknown;
}

/** What model calls used. All numbers are finite and at least 0. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** As the provider counts it; budgets are measured by this figure. */
  readonly totalTokens: number;
  readonly reasoningTokens?: number;
  readonly cachedTokens?: number;
}

/** No tokens. */
export const NO_USAGE: TokenUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

/** Returns the text of a content, its parts joined by line breaks; images and files have none. */
export function textOf(content: MessageContent): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Returns a value as JSON, or undefined where JSON cannot say it (functions, cycles, non-finite numbers, big integers). */
export function toJson(value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  try {
    const text = JSON.stringify(value, (_key, item: unknown) => {
      if (typeof item === "number" && !Number.isFinite(item)) throw new TypeError("not a finite number");
      return item;
    });
    return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
  } catch {
    return undefined;
  }
}
