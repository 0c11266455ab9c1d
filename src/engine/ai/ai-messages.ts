import type { AssistantModelMessage, ModelMessage } from "ai";
import type { ChatMessage, MessagePart } from "../message.js";
import { textOf } from "../message.js";

/** Settings of one provider as the AI SDK takes them. */
export type ProviderOptions = NonNullable<ModelMessage["providerOptions"]>;

/** What the AI SDK wants back unread: its own form of an assistant message. */
interface Extras {
  readonly kind: "ai-sdk";
  readonly messages: readonly AssistantModelMessage[];
}

/** Returns messages as the AI SDK takes them. */
export function toModelMessages(messages: readonly ChatMessage[]): ModelMessage[] {
  const names = new Map<string, string>();
  return messages.flatMap((message): readonly ModelMessage[] => {
    for (const { id, name } of message.toolCalls ?? []) names.set(id, name);
    switch (message.role) {
      case "system":
        return [{ role: "system", content: textOf(message.content) }];
      case "user":
        return [{ role: "user", content: toUserContent(message.content) }];
      case "tool":
        return [toToolMessage(message, names)];
      default:
        return isExtras(message.providerExtras) ? message.providerExtras.messages : [toAssistantMessage(message)];
    }
  });
}

/**
 * Returns what must go back to the provider with the conversation: only where an
 * answer holds reasoning or a provider's own data, which plain messages cannot say.
 */
export function extrasOf(messages: readonly ModelMessage[]): Extras | undefined {
  const own = messages.filter((message) => message.role === "assistant");
  const opaque = own.some(({ content, providerOptions }) => providerOptions !== undefined || hasOpaque(content));
  return opaque ? { kind: "ai-sdk", messages: structuredClone(own) } : undefined;
}

function hasOpaque(content: AssistantModelMessage["content"]): boolean {
  if (typeof content === "string") return false;
  return content.some((part) => {
    const plain = part.type === "text" || part.type === "tool-call";
    return !plain || part.providerOptions !== undefined;
  });
}

function isExtras(extras: unknown): extras is Extras {
  return typeof extras === "object" && extras !== null && "kind" in extras && extras.kind === "ai-sdk";
}

type UserContent = Extract<ModelMessage, { role: "user" }>["content"];

function toUserContent(content: ChatMessage["content"]): UserContent {
  return typeof content === "string" ? content : content.map(toUserPart);
}

function toUserPart(part: MessagePart): Exclude<UserContent, string>[number] {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "image") return { type: "file", data: toData(part.image), mediaType: part.mediaType ?? "image/*" };
  const { data, mediaType, filename } = part;
  return { type: "file", data: toData(data), mediaType, ...(filename === undefined ? {} : { filename }) };
}

function toData(data: Uint8Array | string): Uint8Array | URL {
  return typeof data === "string" ? new URL(data) : data;
}

function toToolMessage(message: ChatMessage, names: ReadonlyMap<string, string>): ModelMessage {
  const toolCallId = message.toolCallId ?? "";
  const toolName = message.toolName ?? names.get(toolCallId) ?? "unknown";
  const output = { type: "text" as const, value: textOf(message.content) };
  return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
}

function toAssistantMessage({ content, toolCalls = [] }: ChatMessage): AssistantModelMessage {
  const text = textOf(content);
  if (toolCalls.length === 0) return { role: "assistant", content: text };
  const calls = toolCalls.map(({ id, name, arguments: input }) => {
    return { type: "tool-call" as const, toolCallId: id, toolName: name, input };
  });
  return { role: "assistant", content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls] };
}
