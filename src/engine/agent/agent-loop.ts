import type { HarnessRunRequest } from "../driver.js";
import { HarnessUnsupportedError } from "../errors.js";
import { type ChatMessage, type ToolCall, textOf } from "../message.js";
import type { FinishReason, ModelConfig, ModelProvider } from "../model.js";
import type { HarnessDriverOutput } from "../result.js";
import type { HarnessExecutionServices } from "../services.js";
import type { ToolCallResult, ToolDefinition } from "../tool.js";
import { toToolDefinition } from "../tool-schema.js";
import type { AgentDriverOptions } from "./agent-driver.js";
import { answerOf, withIds } from "./model-answer.js";
import { checkAnswer, outputInstructions } from "./structured-answer.js";

/** What one agent is set to, once a definition and the driver's options are put together. */
export interface AgentSettings {
  readonly provider: ModelProvider;
  readonly instructions: readonly string[];
  readonly config: ModelConfig;
  readonly maxSteps: number;
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
  readonly stream: boolean;
}

const MAX_STEPS = 50;
/** How often an answer that does not fit the output schema is asked for again. */
const MAX_REPAIRS = 2;

/** Runs one turn of the stock agent. */
export async function runAgent(
  options: AgentDriverOptions,
  request: HarnessRunRequest,
  services: HarnessExecutionServices,
): Promise<HarnessDriverOutput> {
  const settings = toSettings(options, services);
  const tools = services.tools.map(toToolDefinition);
  services.append([{ role: "user", content: request.input }]);
  let repairs = 0;
  for (let step = 0; step < settings.maxSteps; step++) {
    hearSteers(services);
    const { message, finishReason } = await ask(settings, services, tools, placeOf(request, step));
    services.append([message]);
    const calls = message.toolCalls ?? [];
    if (calls.length > 0) {
      services.append(await callTools(services, calls));
      continue;
    }
    if (hearSteers(services)) continue;
    const ended = endOf(message, finishReason, settings.outputSchema);
    if (ended.problem === undefined || repairs++ >= MAX_REPAIRS) return ended.output;
    services.append([{ role: "user", content: ended.problem }]);
  }
  const message = `the agent made ${settings.maxSteps} steps without an answer`;
  return { status: "stopped", text: "", reason: { code: "policy_stopped", message } };
}

/** The names of one step's text and of its calls: no other step of the run has them. */
function placeOf({ attemptId, turn = 1, entry = 1 }: HarnessRunRequest, step: number) {
  const nth = entry === 1 ? `${step}` : `${entry}.${step}`;
  return { itemId: `step-${nth}`, call: `call-${attemptId}-${turn}-${nth}` };
}

/** Puts a definition's defaults before the driver's own options. */
function toSettings(options: AgentDriverOptions, services: HarnessExecutionServices): AgentSettings {
  const { defaults = {}, limits = {} } = services.agentConfiguration ?? {};
  const { modelRole, temperature, maxTokens, outputSchema } = { ...options, ...defaults };
  const texts = [defaults.instructions, options.instructions, outputSchema && outputInstructions(outputSchema)];
  const config = { role: modelRole, temperature, maxTokens };
  return {
    provider: options.model ?? UNBOUND,
    instructions: texts.filter((text): text is string => typeof text === "string" && text !== ""),
    config: Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)),
    maxSteps: limits.maxSteps ?? options.maxSteps ?? MAX_STEPS,
    outputSchema,
    stream: options.stream ?? true,
  };
}

/** Takes the steers that came; true where there was one. */
function hearSteers(services: HarnessExecutionServices): boolean {
  let heard = false;
  for (let steer = services.takeInput(); steer !== undefined; steer = services.takeInput()) {
    services.append([{ role: "user", content: steer.input }]);
    heard = true;
  }
  return heard;
}

async function ask(
  { provider, instructions, config, stream }: AgentSettings,
  services: HarnessExecutionServices,
  tools: readonly ToolDefinition[],
  { itemId, call }: { readonly itemId: string; readonly call: string },
): Promise<{ readonly message: ChatMessage; readonly finishReason: FinishReason }> {
  const system = instructions.map((content): ChatMessage => ({ role: "system", content }));
  const messages = [...system, ...services.history];
  const options = { ...config, ...(tools.length === 0 ? {} : { tools: [...tools] }) };
  let calls = 0;
  const nextId = (): string => `${call}-${++calls}`;
  if (stream) return await answerOf(services, services.streamModel(provider, messages, options), itemId, nextId);
  const { message, finishReason, reasoning } = await services.model(provider, messages, options);
  if (reasoning !== undefined) services.emit({ type: "output.reasoning.delta", text: reasoning, itemId });
  const text = textOf(message.content);
  if (text !== "") services.emit({ type: "output.text.delta", text, itemId });
  return { message: withIds(message, nextId), finishReason };
}

/** Calls the tools of one group at once and answers them in the model's order. */
async function callTools(services: HarnessExecutionServices, calls: readonly ToolCall[]): Promise<ChatMessage[]> {
  const results = await Promise.all(calls.map((call) => services.dispatch(call)));
  return results.map((result) => ({
    role: "tool",
    content: resultText(result),
    toolCallId: result.toolCallId,
    toolName: result.toolName,
  }));
}

function resultText({ result, error, denial }: ToolCallResult): string {
  if (denial !== undefined) return `Not run (${denial}): ${error ?? "no reason given"}`;
  if (error !== undefined) return `Failed: ${error}`;
  return typeof result === "string" ? result : (JSON.stringify(result) ?? "Done.");
}

/** What an answer without tool calls comes to, and what to tell the model where it does not fit. */
function endOf(
  message: ChatMessage,
  finishReason: FinishReason,
  outputSchema: AgentSettings["outputSchema"],
): { readonly output: HarnessDriverOutput; readonly problem?: string } {
  const text = textOf(message.content);
  if (finishReason !== "stop") {
    const why =
      finishReason === "length"
        ? "the model's answer was cut off at its longest"
        : `the model ended with ${finishReason}`;
    return { output: { status: "failed", text, reason: { code: "execution_failed", message: why } } };
  }
  return outputSchema === undefined ? { output: { text } } : checkAnswer(text, outputSchema);
}

/** Stands for the model of a role that must have a binding. */
const UNBOUND: ModelProvider = {
  providerId: "none",
  modelId: "none",
  generate: () => Promise.reject(unbound()),
  // biome-ignore lint/correctness/useYield: it has nothing to give.
  stream: async function* () {
    throw unbound();
  },
};

function unbound(): HarnessUnsupportedError {
  return new HarnessUnsupportedError("model", "the agent has no model; give it one, or bind the role to one");
}
