import type { ChatMessage, ToolCall } from "../message.js";
import type { FinishReason, StreamChunk } from "../model.js";
import type { HarnessExecutionServices } from "../services.js";

/** Gives ids to the calls of an answer that have none: some servers leave them out, and each result must name its call. */
export function withIds(message: ChatMessage, nextId: () => string): ChatMessage {
  if (message.toolCalls === undefined) return message;
  return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, id: call.id || nextId() })) };
}

/** Reads a streamed answer to its end, showing its text and reasoning as they come. */
export async function answerOf(
  services: HarnessExecutionServices,
  chunks: AsyncIterable<StreamChunk>,
  itemId: string,
  nextId: () => string,
): Promise<{ readonly message: ChatMessage; readonly finishReason: FinishReason }> {
  const calls: GatheredCall[] = [];
  let content = "";
  let end: Extract<StreamChunk, { type: "finish" }> | undefined;
  for await (const chunk of chunks) {
    if (chunk.type === "finish") end = chunk;
    if (chunk.type === "text") content += chunk.text;
    show(services, chunk, itemId);
    gather(calls, chunk);
  }
  if (end === undefined) throw new Error("the model's answer has no end");
  const toolCalls = calls.map(({ id, name, text }): ToolCall => ({ id, name, arguments: parse(text) }));
  const message: ChatMessage = {
    role: "assistant",
    content,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(end.providerExtras === undefined ? {} : { providerExtras: end.providerExtras }),
  };
  return { message: withIds(message, nextId), finishReason: end.finishReason };
}

function show(services: HarnessExecutionServices, chunk: StreamChunk, itemId: string): void {
  if (chunk.type !== "text" && chunk.type !== "reasoning") return;
  if (chunk.text === "") return;
  const type = chunk.type === "text" ? "output.text.delta" : "output.reasoning.delta";
  services.emit({ type, text: chunk.text, itemId });
}

interface GatheredCall {
  readonly id: string;
  readonly name: string;
  text: string;
}

/** A piece belongs to the call of its id that began last: calls without ids come one after another. */
function gather(calls: GatheredCall[], chunk: StreamChunk): void {
  if (chunk.type === "tool_call_start") calls.push({ id: chunk.id, name: chunk.name, text: "" });
  if (chunk.type !== "tool_call_delta") return;
  const call = calls.findLast(({ id }) => id === chunk.id);
  if (call !== undefined) call.text += chunk.delta;
}

/** Arguments that are no JSON stay a text: the tool's schema then says what is wrong. */
function parse(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}
