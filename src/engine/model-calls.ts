import { prepareStep } from "./ask-controller.js";
import { checkProjection, checkProvenance } from "./context-policy.js";
import type { StepPlan } from "./controller.js";
import { HarnessUnsupportedError } from "./errors.js";
import { isolate } from "./event-bus.js";
import { checkMessage } from "./history.js";
import type { ChatMessage } from "./message.js";
import { applyBeforeModel } from "./middleware.js";
import { DEFAULT_ROLE, type ModelConfig, type ModelProvider, type ModelResponse, type StreamChunk } from "./model.js";
import { account, countCall, failed, finish, type PreparedCall, reserve } from "./model-call.js";
import type { RunContext } from "./run-context.js";
import type { ToolDefinition } from "./tool.js";
import { toToolDefinition } from "./tool-schema.js";
import { reportLeftOut, withContext } from "./turn-context.js";
import type { TurnScope } from "./turn-scope.js";

type CallOptions = ModelConfig & { readonly tools?: readonly ToolDefinition[] };

/** `services.model`. */
export async function callModel(
  turn: TurnScope,
  provider: ModelProvider,
  messages: readonly ChatMessage[],
  options: CallOptions = {},
  context?: RunContext,
): Promise<ModelResponse> {
  const ctx = turn.contextOf(context);
  mustBeModel(provider, "generate");
  const call = await prepareCall(turn, provider, messages, options, ctx);
  const response = await finish(turn, call, () => call.provider.generate(call.messages, call.options));
  observe(turn, response, ctx);
  return response;
}

/** `services.streamModel`. */
export async function* streamModel(
  turn: TurnScope,
  provider: ModelProvider,
  messages: readonly ChatMessage[],
  options: CallOptions = {},
  context?: RunContext,
): AsyncGenerator<StreamChunk> {
  const ctx = turn.contextOf(context);
  mustBeModel(provider, "stream");
  const call = await prepareCall(turn, provider, messages, options, ctx);
  const end = yield* relay(turn, call);
  const { finishReason, usage, providerExtras, text } = end;
  const message: ChatMessage = {
    role: "assistant",
    content: text,
    ...(providerExtras === undefined ? {} : { providerExtras }),
  };
  observe(turn, { message, finishReason, usage, raw: undefined }, ctx);
  yield { type: "finish", finishReason, usage, ...(providerExtras === undefined ? {} : { providerExtras }) };
}

type StreamEnd = Extract<StreamChunk, { type: "finish" }> & { readonly text: string };

/** Hands on all chunks but the last, and accounts for the call however it ends. */
async function* relay(turn: TurnScope, call: PreparedCall): AsyncGenerator<StreamChunk, StreamEnd> {
  try {
    const end = yield* untilFinish(turn, call);
    account(turn, call, end.usage, end.finishReason);
    return end;
  } catch (error) {
    failed(turn, call, error);
    throw error;
  } finally {
    call.reservation.release();
    // Reached with no report when the reader left the iteration.
    failed(turn, call, new Error("the stream was left"));
  }
}

async function* untilFinish(turn: TurnScope, call: PreparedCall): AsyncGenerator<StreamChunk, StreamEnd> {
  let end: Extract<StreamChunk, { type: "finish" }> | undefined;
  let text = "";
  for await (const chunk of call.provider.stream(call.messages, call.options)) {
    turn.signal.throwIfAborted();
    if (end !== undefined) throw new Error("the model's stream goes on after its finish chunk");
    if (chunk.type === "text") text += chunk.text;
    if (chunk.type === "finish") end = chunk;
    else yield chunk;
  }
  if (end === undefined) throw new Error("the model's stream ended with no finish chunk");
  return { ...end, text };
}

/** `services.controlModel`. */
export async function callControlModel(
  turn: TurnScope,
  role: string,
  messages: readonly ChatMessage[],
  options: Pick<ModelConfig, "maxTokens" | "temperature"> = {},
): Promise<ModelResponse> {
  turn.check();
  const { run } = turn;
  await turn.emitter.room();
  if (!run.id.grants.modelRoles.includes(role))
    throw new TypeError(`the model role ${JSON.stringify(role)} is not granted`);
  const provider = run.config.models[role]?.provider;
  if (provider === undefined) throw new TypeError(`the model role ${JSON.stringify(role)} is bound to no model`);
  for (const message of messages) checkPlain(message);
  const { maxTokens, temperature } = options;
  const config = {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
  };
  countCall(turn);
  const call = reserve(turn, {
    role,
    provider,
    messages: structuredClone(messages),
    config,
    tools: undefined,
    control: true,
  });
  const response = await finish(turn, call, () => provider.generate(call.messages, call.options));
  if (response.finishReason !== "stop" || (response.message.toolCalls?.length ?? 0) > 0) {
    throw new Error(`the control model ended with ${response.finishReason}; only a plain answer counts`);
  }
  return response;
}

/** Throws where a driver gives something else, such as a role's name or a model of the AI SDK as it stands. */
function mustBeModel(provider: ModelProvider | undefined, method: "generate" | "stream"): void {
  if (typeof provider?.[method] === "function") return;
  throw new TypeError("model: must be a ModelProvider, such as aiModel(…); a role is named in the options");
}

async function prepareCall(
  turn: TurnScope,
  provider: ModelProvider,
  messages: readonly ChatMessage[],
  wanted: CallOptions,
  ctx: RunContext,
): Promise<PreparedCall> {
  turn.check();
  const { run } = turn;
  await turn.emitter.room();
  for (const message of messages) checkMessage(message);
  countCall(turn);
  const plan = await turn.guard(() => prepareStep(run, wanted, ctx));
  if (plan.activeToolIds !== undefined) turn.active = new Set(plan.activeToolIds);
  const chosen = bound(turn, plan, provider);
  refuseRoleSwitch(run.lastRole, plan.role, messages);
  run.lastRole = plan.role;
  const draft = await applyBeforeModel(
    run.abilities?.middleware ?? [],
    { messages: structuredClone(messages), options: plan.options },
    ctx,
  );
  const shown = await turn.guard(() => project(turn, plan, draft.messages, ctx));
  turn.check();
  return reserve(turn, {
    role: plan.role,
    provider: chosen,
    messages: shown,
    config: draft.options,
    tools: definitions(turn, plan, wanted.tools ?? []),
    control: false,
    ...(wanted.signal === undefined ? {} : { signal: wanted.signal }),
  });
}

/** The model behind the planned role, once the options are ones that its binding lets a caller set. */
function bound(turn: TurnScope, plan: StepPlan, own: ModelProvider): ModelProvider {
  const binding = turn.run.config.models[plan.role];
  if (binding === undefined) {
    if (plan.role === DEFAULT_ROLE) return own;
    throw new TypeError(`the model role ${JSON.stringify(plan.role)} is bound to no model`);
  }
  const allowed = binding.options;
  const foreign = allowed && Object.keys(plan.options).find((key) => !(allowed as readonly string[]).includes(key));
  if (foreign !== undefined)
    throw new TypeError(`the option ${foreign} may not be set for the model role ${JSON.stringify(plan.role)}`);
  return binding.provider;
}

function refuseRoleSwitch(before: string | undefined, role: string, messages: readonly ChatMessage[]): void {
  if (before === undefined || role === before || messages.every(({ providerExtras }) => providerExtras === undefined))
    return;
  throw new HarnessUnsupportedError(
    "switch of model role",
    `the messages hold opaque parts of the role ${before}, which ${role} cannot read`,
  );
}

async function project(
  turn: TurnScope,
  plan: StepPlan,
  messages: readonly ChatMessage[],
  ctx: RunContext,
): Promise<readonly ChatMessage[]> {
  const retrieved = await turn.retrieved();
  const full = withContext(messages, turn.run.abilities?.prompts ?? [], retrieved.messages);
  const policy = plan.contextPolicy ?? turn.run.config.contextPolicy;
  if (policy === undefined) return full;
  const projection = await policy.project(structuredClone(full), ctx, retrieved.entries);
  const shown = checkProjection(full, structuredClone(projection.messages));
  reportLeftOut(turn, checkProvenance(full, { messages: shown, provenance: projection.provenance ?? [] }));
  return shown;
}

function definitions(
  turn: TurnScope,
  plan: StepPlan,
  shown: readonly ToolDefinition[],
): readonly ToolDefinition[] | undefined {
  return plan.activeToolIds?.map((name) => {
    const own = shown.find((tool) => tool.name === name);
    if (own !== undefined) return own;
    const tool = turn.run.tools.find((supplied) => supplied.name === name);
    if (tool === undefined) throw new TypeError(`there is no tool ${JSON.stringify(name)}`);
    return toToolDefinition(tool);
  });
}

function observe(turn: TurnScope, response: ModelResponse, ctx: RunContext): void {
  for (const { afterModel } of turn.run.abilities?.middleware ?? []) {
    if (afterModel !== undefined) isolate(() => afterModel(response, ctx));
  }
}

function checkPlain(message: ChatMessage): void {
  checkMessage(message);
  const plain =
    message.role !== "tool" && (message.toolCalls?.length ?? 0) === 0 && message.providerExtras === undefined;
  if (!plain)
    throw new TypeError("a control call takes plain messages only: no tool calls, tool results or opaque parts");
}
