import { fromJson, type JsonValue, type MessageInitShape, toJson as messageToJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Content } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import type { Usage, UsageSchema } from "../../gen/ts/harnessruntime/v1/usage_pb.js";
import { invalid } from "../core/errors.js";
import { type MessageContent, type MessagePart, type TokenUsage, toJson } from "./message.js";

/** Returns a usage of the contract as the embedded API has it. */
export function fromUsage(usage: Usage | undefined): TokenUsage {
  return {
    promptTokens: usage?.promptTokens ?? 0,
    completionTokens: usage?.completionTokens ?? 0,
    totalTokens: usage?.totalTokens ?? 0,
    ...(usage?.cachedTokens === undefined ? {} : { cachedTokens: usage.cachedTokens }),
    ...(usage?.reasoningTokens === undefined ? {} : { reasoningTokens: usage.reasoningTokens }),
  };
}

/** Returns a usage as the contract has it: whole numbers. */
export function toUsageInit(usage: TokenUsage): MessageInitShape<typeof UsageSchema> {
  return {
    promptTokens: Math.round(usage.promptTokens),
    completionTokens: Math.round(usage.completionTokens),
    totalTokens: Math.round(usage.totalTokens),
    ...(usage.cachedTokens === undefined ? {} : { cachedTokens: Math.round(usage.cachedTokens) }),
    ...(usage.reasoningTokens === undefined ? {} : { reasoningTokens: Math.round(usage.reasoningTokens) }),
  };
}

/** Returns `{ [key]: json }` of a protobuf value, or nothing where it is unset. */
export function jsonOf<K extends string>(key: K, value: Value | undefined): { readonly [P in K]?: JsonValue } {
  if (value === undefined) return {};
  return { [key]: messageToJson(ValueSchema, value) } as { readonly [P in K]: JsonValue };
}

/** Returns a JSON value as protobuf has it; null where JSON cannot say it. */
export function toValue(value: unknown): Value {
  return fromJson(ValueSchema, toJson(value) ?? null);
}

/** Returns a content of the contract as a message's content. */
export function fromContent(content: Content | undefined): MessageContent {
  if (content === undefined) return "";
  if (content.attachments.length === 0) return content.text;
  const text: MessagePart[] = content.text === "" ? [] : [{ type: "text", text: content.text }];
  return [...text, ...content.attachments.map(toPart)];
}

function toPart({ mediaType, name, source }: Content["attachments"][number]): MessagePart {
  const data = source.value ?? "";
  if (mediaType.startsWith("image/")) return { type: "image", image: data, mediaType };
  return { type: "file", data, mediaType, ...(name === "" ? {} : { filename: name }) };
}

type ContentInit = { text: string; attachments: AttachmentInit[] };
type AttachmentInit = {
  mediaType: string;
  name: string;
  source: { case: "uri"; value: string } | { case: "data"; value: Uint8Array<ArrayBuffer> };
};

/**
 * Checks a message's content and returns a copy as the contract has it: texts
 * joined by line breaks, then the files. Fails with VALIDATION_ERROR.
 */
export function toContentInit(input: unknown): ContentInit {
  if (typeof input === "string") return { text: input, attachments: [] };
  if (!Array.isArray(input)) throw invalid("input", "must be a text or a list of parts");
  const texts: string[] = [];
  const attachments: AttachmentInit[] = [];
  for (const [index, part] of (input as (MessagePart | null)[]).entries()) {
    if (part?.type === "text" && typeof part.text === "string") texts.push(part.text);
    else attachments.push(toAttachment(part, `input[${index}]`));
  }
  return { text: texts.join("\n"), attachments };
}

function toAttachment(part: MessagePart | null, field: string): AttachmentInit {
  if (part?.type === "image") {
    return { mediaType: part.mediaType ?? "image/*", name: "", source: toSource(part.image, field) };
  }
  if (part?.type === "file" && typeof part.mediaType === "string" && part.mediaType !== "") {
    return { mediaType: part.mediaType, name: part.filename ?? "", source: toSource(part.data, field) };
  }
  throw invalid(field, "must be a part of type text, image or file");
}

function toSource(data: unknown, field: string): AttachmentInit["source"] {
  if (data instanceof Uint8Array) return { case: "data", value: new Uint8Array(data) };
  if (typeof data === "string" && data !== "") return { case: "uri", value: data };
  throw invalid(field, "must have its bytes or a URL");
}
