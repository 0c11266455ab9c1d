import type {
  FinishReason as AiFinishReason,
  generateText,
  LanguageModel,
  LanguageModelUsage,
  streamText,
  ToolSet,
} from "ai";
import type { TokenUsage, ToolCall } from "../message.js";
import type { FinishReason, ModelCallOptions, ModelProvider, ModelResponse, StreamChunk } from "../model.js";
import { extrasOf, type ProviderOptions, toModelMessages } from "./ai-messages.js";

/** Any model of the AI SDK, as an object of its provider: `createOpenAICompatible(…)("model")`, `anthropic("…")`, `google("…")`, … */
export interface AiLanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  // The rest is between the model and the SDK. Spelled out here, because the SDK's own declarations pass no strict check.
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<unknown>;
}

export interface AiModelOptions {
  /** How often a call that failed for want of the network or with 429 or 5xx is tried again. Default 2. */
  readonly maxRetries?: number;
}

/**
 * Makes a model provider of an AI SDK model. Files that a message names by URL are
 * never fetched by this process: the model's provider gets the URL.
 */
export function aiModel(model: AiLanguageModel, { maxRetries = 2 }: AiModelOptions = {}): ModelProvider {
  const settings = (sdk: Sdk, messages: Parameters<ModelProvider["generate"]>[0], options: ModelCallOptions) => ({
    ...toSettings(sdk, options),
    model: model as LanguageModel,
    maxRetries,
    messages: toModelMessages(messages),
    allowSystemInMessages: true,
    abortSignal: options.signal,
    experimental_download: leaveToProvider,
  });
  return {
    providerId: model.provider,
    modelId: model.modelId,
    async generate(messages, options) {
      const sdk = await loadSdk();
      return toResponse(await sdk.generateText(settings(sdk, messages, options)));
    },
    async *stream(messages, options) {
      const sdk = await loadSdk();
      const result = sdk.streamText({ ...settings(sdk, messages, options), onError: () => {} });
      yield* toChunks(result.stream, async () => (await result.finalStep).response.messages);
    },
  };
}

type Sdk = typeof import("ai");

let loading: Promise<Sdk> | undefined;

/** Loads the SDK with the first call, so that a program which makes none does not wait for it. */
function loadSdk(): Promise<Sdk> {
  loading ??= import("ai");
  return loading;
}

type Result = Pick<
  Awaited<ReturnType<typeof generateText<ToolSet>>>,
  "text" | "toolCalls" | "usage" | "finishReason" | "finalStep"
>;
type Part = ReturnType<typeof streamText<ToolSet>>["stream"] extends AsyncIterable<infer P> ? P : never;

/** Answers every request for a file with "not here", so that its URL goes to the model's provider. */
async function leaveToProvider(files: readonly unknown[]): Promise<null[]> {
  return files.map(() => null);
}

function toSettings(
  { Output, jsonSchema, tool }: Sdk,
  { maxTokens, stopSequences, providerOptions, responseSchema, ...options }: ModelCallOptions,
) {
  const { temperature, topP, topK, seed, toolChoice, tools } = options;
  // Tools that the SDK shows the model and never runs.
  const shown = tools?.map(({ name, description, parameters }) => {
    return [name, tool({ description, inputSchema: jsonSchema(parameters) })] as const;
  });
  return {
    ...defined({ temperature, topP, topK, seed, toolChoice, maxOutputTokens: maxTokens }),
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...(providerOptions === undefined ? {} : { providerOptions: providerOptions as ProviderOptions }),
    ...(responseSchema === undefined ? {} : { output: Output.object({ schema: jsonSchema(responseSchema) }) }),
    ...(shown === undefined ? {} : { tools: Object.fromEntries(shown) as ToolSet }),
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}

function toResponse(result: Result): ModelResponse {
  const toolCalls = result.toolCalls.map(({ toolCallId, toolName, input }): ToolCall => {
    return { id: toolCallId, name: toolName, arguments: input };
  });
  const extras = extrasOf(result.finalStep.response.messages);
  const { reasoningText } = result.finalStep;
  return {
    message: {
      role: "assistant",
      content: result.text,
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
      ...(extras === undefined ? {} : { providerExtras: extras }),
    },
    usage: toUsage(result.usage),
    finishReason: toFinishReason(result.finishReason, toolCalls.length > 0),
    raw: result.finalStep.response,
    ...(reasoningText === undefined ? {} : { reasoning: reasoningText }),
  };
}

async function* toChunks(
  parts: AsyncIterable<Part>,
  messages: () => Promise<Parameters<typeof extrasOf>[0]>,
): AsyncGenerator<StreamChunk> {
  const calls = new StreamedCalls();
  for await (const part of parts) {
    if (part.type === "error") throw part.error;
    if (part.type === "abort") throw new DOMException(part.reason ?? "the call was aborted", "AbortError");
    if (part.type !== "finish") yield* toChunk(part, calls);
    else yield toFinish(part, calls.any, extrasOf(await messages()));
  }
}

function toFinish(part: Extract<Part, { type: "finish" }>, hasCalls: boolean, extras: unknown): StreamChunk {
  const finishReason = toFinishReason(part.finishReason, hasCalls);
  const finish: StreamChunk = { type: "finish", finishReason, usage: toUsage(part.totalUsage) };
  return extras === undefined ? finish : { ...finish, providerExtras: extras };
}

function toChunk(part: Part, calls: StreamedCalls): readonly StreamChunk[] {
  switch (part.type) {
    case "text-delta":
      return [{ type: "text", text: part.text }];
    case "reasoning-delta":
      return [{ type: "reasoning", text: part.text }];
    case "tool-input-start":
      return calls.start(part.id, part.toolName);
    case "tool-input-delta":
      return calls.delta(part.id, part.delta);
    case "tool-call":
      return calls.whole(part.toolCallId, part.toolName, part.input);
    default:
      return [];
  }
}

/** The calls of one streamed answer, whose arguments come in pieces, or whole at the end, or both. */
class StreamedCalls {
  /** By id: whether any piece of the arguments came. */
  readonly #came = new Map<string, boolean>();

  get any(): boolean {
    return this.#came.size > 0;
  }

  start(id: string, name: string): readonly StreamChunk[] {
    this.#came.set(id, false);
    return [{ type: "tool_call_start", id, name }];
  }

  delta(id: string, delta: string): readonly StreamChunk[] {
    if (delta !== "") this.#came.set(id, true);
    return [{ type: "tool_call_delta", id, delta }];
  }

  /** Everything of a call that did not come before. */
  whole(id: string, name: string, input: unknown): readonly StreamChunk[] {
    const came = this.#came.get(id);
    if (came === true) return [];
    const started = came === undefined ? this.start(id, name) : [];
    return [...started, ...this.delta(id, typeof input === "string" ? input : JSON.stringify(input))];
  }
}

/** Numbers that a provider does not report count as 0; a missing total is the sum. */
function toUsage(usage: LanguageModelUsage): TokenUsage {
  const promptTokens = usage.inputTokens ?? 0;
  const completionTokens = usage.outputTokens ?? 0;
  return {
    promptTokens,
    completionTokens,
    totalTokens: usage.totalTokens ?? promptTokens + completionTokens,
    ...defined({
      cachedTokens: usage.inputTokenDetails.cacheReadTokens,
      reasoningTokens: usage.outputTokenDetails.reasoningTokens,
    }),
  };
}

const FINISH: Readonly<Record<AiFinishReason, FinishReason | undefined>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
  error: undefined,
  interrupted: undefined,
  other: "stop",
};

function toFinishReason(reason: AiFinishReason, hasCalls: boolean): FinishReason {
  const finish = FINISH[reason];
  if (finish === undefined) throw new Error(`the model's answer ended with ${reason}`);
  return finish === "stop" && hasCalls ? "tool_calls" : finish;
}
