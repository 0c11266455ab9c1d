import { ReadableStream } from "node:stream/web";
import { expect, test } from "vitest";
import { type AiLanguageModel, aiModel, type StreamChunk } from "../../src/engine.js";

/** A model of the AI SDK that streams these parts. */
function streaming(parts: readonly object[]): AiLanguageModel {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const all = [
    { type: "stream-start", warnings: [] },
    ...parts,
    { type: "finish", finishReason: { unified: "tool-calls", raw: "tool_use" }, usage },
  ];
  return {
    specificationVersion: "v3",
    provider: "fake",
    modelId: "fake",
    doGenerate: () => Promise.reject(new Error("only streams")),
    doStream: async () => ({ stream: ReadableStream.from(all) }),
  };
}

const START = { type: "tool-input-start", id: "c1", toolName: "a" };
const END = { type: "tool-input-end", id: "c1" };
const CALL = { type: "tool-call", toolCallId: "c1", toolName: "a", input: '{"x":1}' };
const piece = (delta: string) => ({ type: "tool-input-delta", id: "c1", delta });

test.each([
  ["in pieces", [START, piece('{"x"'), piece(":1}"), END, CALL]],
  ["whole after its start", [START, END, CALL]],
  ["whole after an empty piece", [START, piece(""), END, CALL]],
  ["whole, with no start", [CALL]],
])("E177 a streamed call has its arguments where they come %s", async (_how, parts) => {
  const provider = aiModel(streaming(parts));
  const chunks: StreamChunk[] = [];
  const tools = [{ name: "a", description: "", parameters: { type: "object" } }];
  const signal = new AbortController().signal;
  for await (const chunk of provider.stream([{ role: "user", content: "hi" }], { tools, signal })) chunks.push(chunk);
  const deltas = chunks.flatMap((chunk) => (chunk.type === "tool_call_delta" ? [chunk.delta] : []));
  expect(deltas.join("")).toBe('{"x":1}');
  expect(chunks.filter(({ type }) => type === "tool_call_start")).toEqual([
    { type: "tool_call_start", id: "c1", name: "a" },
  ]);
});
