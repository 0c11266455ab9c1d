import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Api, Json } from "./request.js";
import type { ToolCall } from "./script.js";

/** Writes one answer of a model in the form of its API, streaming or whole. */
export interface AnswerWriter {
  /** The head of a streamed answer. */
  begin(): void;
  think(text: string): void;
  text(text: string): void;
  call(call: ToolCall): void;
  end(): void;
}

export interface WriterOptions {
  readonly response: ServerResponse;
  readonly model: string;
  readonly stream: boolean;
}

/** Makes the writer of an API. */
export const WRITERS: Readonly<Record<Api, (options: WriterOptions) => AnswerWriter>> = {
  chat: writeChat,
  responses: writeResponses,
  gemini: writeGemini,
  anthropic: writeAnthropic,
};

const newId = (prefix: string): string => `${prefix}${randomUUID().replaceAll("-", "").slice(0, 20)}`;

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function beginEvents(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
}

function writeChat({ response, model, stream }: WriterOptions): AnswerWriter {
  const object = stream ? "chat.completion.chunk" : "chat.completion";
  const base = { id: newId("chatcmpl-"), object, created: Math.floor(Date.now() / 1000), model };
  const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
  const calls: Json[] = [];
  let content = "";
  const send = (body: Json): void => {
    if (stream) response.write(`data: ${JSON.stringify({ ...base, ...body })}\n\n`);
  };
  const delta = (fields: Json, finish_reason: string | null = null): void => {
    send({ choices: [{ index: 0, delta: fields, finish_reason }] });
  };
  return {
    begin() {
      if (stream) beginEvents(response);
      delta({ role: "assistant", content: "" });
    },
    think: (text) => delta({ reasoning_content: text }),
    text(text) {
      content += text;
      delta({ content: text });
    },
    call({ name, args, input }) {
      const made =
        args === undefined
          ? { type: "custom", custom: { name, input } }
          : { type: "function", function: { name, arguments: JSON.stringify(args) } };
      const call = { index: calls.length, id: newId("call_"), ...made };
      calls.push(call);
      delta({ tool_calls: [call] });
    },
    end() {
      const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
      if (!stream) {
        const message = { role: "assistant", content, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
        sendJson(response, 200, { ...base, choices: [{ index: 0, message, finish_reason }], usage });
        return;
      }
      delta({}, finish_reason);
      send({ choices: [], usage });
      response.end("data: [DONE]\n\n");
    },
  };
}

function writeResponses({ response, model, stream }: WriterOptions): AnswerWriter {
  const id = newId("resp_");
  const output: Json[] = [];
  let sequence_number = 0;
  let message: { readonly id: string; text: string } | undefined;
  const send = (type: string, body: Json): void => {
    if (!stream) return;
    response.write(
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...body })}\n\n`,
    );
  };
  const usage = {
    ...{ input_tokens: 11, output_tokens: 7, total_tokens: 18 },
    ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  };
  const whole = (status: string): Json => ({
    ...{ id, object: "response", created_at: Math.floor(Date.now() / 1000), status, model, output },
    ...{ parallel_tool_calls: true, tools: [], error: null, incomplete_details: null },
    usage: status === "completed" ? usage : null,
  });
  const add = (item: Json): void => {
    send("response.output_item.done", { output_index: output.length, item });
    output.push(item);
  };
  const endMessage = (): void => {
    if (message === undefined) return;
    const part = { type: "output_text", text: message.text, annotations: [] };
    const at = { item_id: message.id, output_index: output.length, content_index: 0 };
    send("response.output_text.done", { ...at, text: message.text });
    send("response.content_part.done", { ...at, part });
    add({ id: message.id, type: "message", status: "completed", role: "assistant", content: [part] });
    message = undefined;
  };
  return {
    begin() {
      if (!stream) return;
      beginEvents(response);
      send("response.created", { response: whole("in_progress") });
      send("response.in_progress", { response: whole("in_progress") });
    },
    think(text) {
      endMessage();
      const item_id = newId("rs_");
      const at = { item_id, output_index: output.length, summary_index: 0 };
      send("response.output_item.added", {
        output_index: output.length,
        item: { id: item_id, type: "reasoning", summary: [] },
      });
      send("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } });
      send("response.reasoning_summary_text.delta", { ...at, delta: text });
      send("response.reasoning_summary_text.done", { ...at, text });
      add({ id: item_id, type: "reasoning", summary: [{ type: "summary_text", text }] });
    },
    text(text) {
      if (message === undefined) {
        message = { id: newId("msg_"), text: "" };
        const item = { id: message.id, type: "message", status: "in_progress", role: "assistant", content: [] };
        send("response.output_item.added", { output_index: output.length, item });
        const part = { type: "output_text", text: "", annotations: [] };
        send("response.content_part.added", {
          item_id: message.id,
          output_index: output.length,
          content_index: 0,
          part,
        });
      }
      message.text += text;
      send("response.output_text.delta", {
        item_id: message.id,
        output_index: output.length,
        content_index: 0,
        delta: text,
      });
    },
    call({ name, namespace, args, input }) {
      endMessage();
      const call_id = newId("call_");
      const at = { output_index: output.length };
      if (args === undefined) {
        const item = { id: newId("ctc_"), type: "custom_tool_call", status: "completed", call_id, name, input };
        send("response.output_item.added", { ...at, item: { ...item, status: "in_progress", input: "" } });
        send("response.custom_tool_call_input.delta", { ...at, item_id: item.id, delta: input });
        send("response.custom_tool_call_input.done", { ...at, item_id: item.id, input });
        add(item);
        return;
      }
      const text = JSON.stringify(args);
      const place = namespace === undefined ? {} : { namespace };
      const item = {
        id: newId("fc_"),
        type: "function_call",
        status: "completed",
        call_id,
        name,
        ...place,
        arguments: text,
      };
      send("response.output_item.added", { ...at, item: { ...item, status: "in_progress", arguments: "" } });
      send("response.function_call_arguments.delta", { ...at, item_id: item.id, delta: text });
      send("response.function_call_arguments.done", { ...at, item_id: item.id, arguments: text });
      add(item);
    },
    end() {
      endMessage();
      if (!stream) {
        sendJson(response, 200, whole("completed"));
        return;
      }
      send("response.completed", { response: whole("completed") });
      response.end();
    },
  };
}

function writeGemini({ response, model, stream }: WriterOptions): AnswerWriter {
  const written: Json[] = [];
  const usageMetadata = { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 };
  const body = (parts: readonly Json[], finishReason?: string): Json => ({
    candidates: [
      { content: { role: "model", parts }, index: 0, ...(finishReason === undefined ? {} : { finishReason }) },
    ],
    ...{ usageMetadata, modelVersion: model, responseId: "scripted" },
  });
  const add = (part: Json): void => {
    written.push(part);
    if (stream) response.write(`data: ${JSON.stringify(body([part]))}\r\n\r\n`);
  };
  return {
    begin() {
      if (stream) beginEvents(response);
    },
    think: (text) => add({ text, thought: true }),
    text: (text) => add({ text }),
    call: ({ name, args, input }) => add({ functionCall: { id: newId("fc_"), name, args: args ?? { input } } }),
    end() {
      if (!stream) {
        const spoken = written.filter(({ thought }) => thought !== true);
        const hasCall = written.some(({ functionCall }) => functionCall !== undefined);
        sendJson(response, 200, body(hasCall ? written : [{ text: spoken.map(({ text }) => text).join("") }], "STOP"));
        return;
      }
      response.write(`data: ${JSON.stringify(body([], "STOP"))}\r\n\r\n`);
      response.end();
    },
  };
}

function writeAnthropic({ response, model, stream }: WriterOptions): AnswerWriter {
  const id = newId("msg_");
  const content: Record<string, unknown>[] = [];
  let open = "";
  const send = (type: string, body: Json): void => {
    if (stream) response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...body })}\n\n`);
  };
  const stop = (): void => {
    if (open !== "") send("content_block_stop", { index: content.length - 1 });
    open = "";
  };
  const start = (kind: string, block: Json): void => {
    if (open === kind) return;
    stop();
    open = kind;
    content.push({ ...block });
    send("content_block_start", { index: content.length - 1, content_block: block });
  };
  const delta = (fields: Json): void => send("content_block_delta", { index: content.length - 1, delta: fields });
  const append = (member: string, text: string): void => {
    const block = content.at(-1);
    if (block !== undefined) block[member] = `${String(block[member])}${text}`;
  };
  const base = { id, type: "message", role: "assistant", model };
  return {
    begin() {
      if (!stream) return;
      beginEvents(response);
      const usage = { input_tokens: 11, output_tokens: 1 };
      send("message_start", { message: { ...base, content: [], stop_reason: null, stop_sequence: null, usage } });
    },
    think(text) {
      start("thinking", { type: "thinking", thinking: "", signature: "" });
      append("thinking", text);
      delta({ type: "thinking_delta", thinking: text });
    },
    text(text) {
      start("text", { type: "text", text: "" });
      append("text", text);
      delta({ type: "text_delta", text });
    },
    call({ name, args, input }) {
      stop();
      start(newId("tool"), { type: "tool_use", id: newId("toolu_"), name, input: {} });
      const given = args ?? { input };
      const block = content.at(-1);
      if (block !== undefined) block["input"] = given;
      delta({ type: "input_json_delta", partial_json: JSON.stringify(given) });
    },
    end() {
      stop();
      const stop_reason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
      const usage = { input_tokens: 11, output_tokens: 7 };
      if (!stream) {
        sendJson(response, 200, { ...base, content, stop_reason, stop_sequence: null, usage });
        return;
      }
      send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } });
      send("message_stop", {});
      response.end();
    },
  };
}
