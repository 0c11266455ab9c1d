/** A model request, whichever API it came by. */
export interface ModelRequest {
  readonly system: string;
  readonly items: readonly Item[];
  readonly tools: readonly Tool[];
  /** The JSON Schema that the answer must fit; undefined where it is text. */
  readonly schema: Json | undefined;
}

export interface Item {
  readonly role: "user" | "model" | "tool";
  readonly text: string;
}

export interface Tool {
  readonly name: string;
  readonly params: Json;
  /** A tool of OpenAI's that takes text, not JSON. */
  readonly custom: boolean;
  readonly namespace: string | undefined;
}

export type Json = Readonly<Record<string, unknown>>;

/** The APIs that the server speaks. */
export type Api = "chat" | "responses" | "gemini" | "anthropic";

/** Reads a request's body. */
export const READERS: Readonly<Record<Api, (body: Json) => ModelRequest>> = {
  chat: readChat,
  responses: readResponses,
  gemini: readGemini,
  anthropic: readAnthropic,
};

export function fields(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

/** All text in a message's content, whatever its form. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).join("\n");
  const { text, content: inner, output, parts, functionResponse } = fields(content);
  if (typeof text === "string") return text;
  const nested = inner ?? output ?? parts;
  if (nested !== undefined) return textOf(nested);
  return functionResponse === undefined ? "" : JSON.stringify(fields(functionResponse)["response"]);
}

/** A message is one item for each of its parts: some agents put a cancelled prompt and the next one into one message. */
function userItems(content: unknown): Item[] {
  return (Array.isArray(content) ? content : [content]).map((part) => ({ role: "user", text: textOf(part) }));
}

function tool(name: unknown, params: unknown, more: Partial<Tool> = {}): Tool {
  return { name: String(name), params: fields(params), custom: false, namespace: undefined, ...more };
}

function readChat(body: Json): ModelRequest {
  const system: string[] = [];
  const items = list(body["messages"]).flatMap(({ role, content }): Item[] => {
    if (role === "system" || role === "developer") system.push(textOf(content));
    else if (role === "tool") return [{ role: "tool", text: textOf(content) }];
    else if (role === "assistant") return [{ role: "model", text: textOf(content) }];
    else return userItems(content);
    return [];
  });
  const tools = list(body["tools"]).map((given) => {
    const { name, parameters } = { ...given, ...fields(given["function"] ?? given["custom"]) } as Json;
    return tool(name, parameters, { custom: given["type"] === "custom" });
  });
  const { type, json_schema } = fields(body["response_format"]);
  const schema =
    type === "json_schema" ? fields(fields(json_schema)["schema"]) : type === "json_object" ? {} : undefined;
  return { system: system.join("\n"), items, tools, schema };
}

function readResponses(body: Json): ModelRequest {
  const { input, instructions } = body;
  const system = [String(instructions ?? "")];
  const messages = typeof input === "string" ? [{ role: "user", content: input }] : list(input);
  const items = messages.flatMap((message): Item[] => {
    const { type = "message", role, content, output } = message as Json;
    if (String(type).endsWith("_output")) return [{ role: "tool", text: textOf(output) }];
    if (type !== "message") return /^reasoning$|_call$/.test(String(type)) ? [{ role: "model", text: "" }] : [];
    if (role === "assistant") return [{ role: "model", text: textOf(content) }];
    if (role === "user") return userItems(content);
    system.push(textOf(content));
    return [];
  });
  const { type, schema } = fields(fields(body["text"])["format"]);
  return {
    system: system.join("\n"),
    items,
    tools: list(body["tools"]).flatMap(responsesTools),
    schema: type === "json_schema" ? fields(schema) : undefined,
  };
}

function responsesTools({ type, name, parameters, tools }: Json): Tool[] {
  if (type === "function") return [tool(name, parameters)];
  if (type === "custom") return [tool(name, {}, { custom: true })];
  if (type !== "namespace") return [tool(type, {})];
  return list(tools).map((inner) => tool(inner["name"], inner["parameters"], { namespace: String(name) }));
}

function readGemini(body: Json): ModelRequest {
  const items = list(body["contents"]).flatMap(({ role, parts }): Item[] => {
    const answers = list(parts).filter(({ functionResponse }) => functionResponse !== undefined);
    if (role === "model") return [{ role: "model", text: textOf(parts) }];
    return answers.length > 0 ? [{ role: "tool", text: textOf(answers) }] : userItems(parts);
  });
  const tools = list(body["tools"])
    .flatMap(({ functionDeclarations }) => list(functionDeclarations))
    .map(({ name, parametersJsonSchema, parameters }) => tool(name, parametersJsonSchema ?? parameters));
  const { responseMimeType, responseJsonSchema, responseSchema } = fields(body["generationConfig"]);
  const schema = responseMimeType === "application/json" ? fields(responseJsonSchema ?? responseSchema) : undefined;
  return { system: textOf(body["systemInstruction"]), items, tools, schema };
}

function readAnthropic(body: Json): ModelRequest {
  const items = list(body["messages"]).flatMap(({ role, content }): Item[] => {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
    const results = parts.filter(({ type }) => type === "tool_result");
    const texts = parts.filter(({ type }) => type === "text");
    if (role === "assistant") return [{ role: "model", text: textOf(texts) }];
    return results.length > 0 ? [{ role: "tool", text: textOf(results) }] : userItems(texts);
  });
  const tools = list(body["tools"]).map(({ name, input_schema }) => tool(name, input_schema));
  return { system: textOf(body["system"]), items, tools, schema: undefined };
}
