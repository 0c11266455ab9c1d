import type { ChatMessage, ToolCall } from "../message.js";
import type { FinishReason, StreamChunk } from "../model.js";
import type { HarnessExecutionServices } from "../services.js";

/** Reads a streamed answer to its end, showing its text and reasoning as they come. */
export async function answerOf(
  services: HarnessExecutionServices,
  chunks: AsyncIterable<StreamChunk>,
  itemId: string,
): Promise<{ readonly message: ChatMessage; readonly finishReason: FinishReason }> {
  const calls = new Map<string, { readonly name: string; text: string }>();
  let content = "";
  let end: Extract<StreamChunk, { type: "finish" }> | undefined;
  for await (const chunk of chunks) {
    if (chunk.type === "finish") end = chunk;
    if (chunk.type === "text") content += chunk.text;
    show(services, chunk, itemId);
    gather(calls, chunk);
  }
  if (end === undefined) throw new Error("the model's answer has no end");
  const toolCalls = [...calls].map(([id, { name, text }]): ToolCall => ({ id, name, arguments: parse(text) }));
  const message: ChatMessage = {
    role: "assistant",
    content,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(end.providerExtras === undefined ? {} : { providerExtras: end.providerExtras }),
  };
  return { message, finishReason: end.finishReason };
}

function show(services: HarnessExecutionServices, chunk: StreamChunk, itemId: string): void {
  if (chunk.type !== "text" && chunk.type !== "reasoning") return;
  if (chunk.text === "") return;
  const type = chunk.type === "text" ? "output.text.delta" : "output.reasoning.delta";
  services.emit({ type, text: chunk.text, itemId });
}

function gather(calls: Map<string, { readonly name: string; text: string }>, chunk: StreamChunk): void {
  if (chunk.type === "tool_call_start") calls.set(chunk.id, { name: chunk.name, text: "" });
  if (chunk.type !== "tool_call_delta") return;
  const call = calls.get(chunk.id);
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
