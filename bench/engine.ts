// usage: node --experimental-transform-types --import ./scripts/source.mjs bench/engine.ts
// Prints what the engine adds to a model call and to a tool call, over calling the AI SDK and the tool directly. The
// model answers at once, so that nothing but the two ways is measured; rounds alternate, and the median round counts.
import { generateText, jsonSchema, streamText, type ToolSet, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import {
  aiModel,
  type ChatMessage,
  createApprovalManager,
  type ExecutionDriver,
  type HarnessExecutionServices,
  HarnessRuntime,
  type ToolDef,
} from "../src/engine.js";

const ROUNDS = 15;
const CALLS = 400;
const LIMIT_MODEL_MS = 1;
const LIMIT_TOOL_MS = 0.2;

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const finishReason = { unified: "stop" as const, raw: "stop" };
const instant = new MockLanguageModelV4({
  doGenerate: async () => ({ content: [{ type: "text", text: "fine" }], finishReason, usage, warnings: [] }),
  doStream: async () => ({
    stream: simulateReadableStream({
      initialDelayInMs: null,
      chunkDelayInMs: null,
      chunks: [
        { type: "text-start", id: "1" },
        ...Array.from({ length: 10 }, () => ({ type: "text-delta" as const, id: "1", delta: "word " })),
        { type: "text-end", id: "1" },
        { type: "finish", finishReason, usage },
      ],
    }),
  }),
});

const parameters = { type: "object", properties: { a: { type: "number" } }, required: ["a"] } as const;
const add: ToolDef = {
  name: "add",
  description: "Adds one.",
  parameters,
  effect: "read",
  execute: async ({ a }) => Number(a) + 1,
};
const TOOLS = { add: tool({ description: add.description, inputSchema: jsonSchema(parameters) }) } as ToolSet;
const DEFINITIONS = [{ name: add.name, description: add.description, parameters }];

/** A conversation of 20 messages, as an agent in the middle of its work has it. */
const MESSAGES: ChatMessage[] = Array.from({ length: 20 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: `message ${index} `.repeat(20),
}));
const SDK_MESSAGES = MESSAGES.map(({ role, content }) => ({
  role: role as "user" | "assistant",
  content: String(content),
}));

const provider = aiModel(instant);
type Work = (services: HarnessExecutionServices) => Promise<unknown>;

/** What is compared: the direct way, and the same through the engine. */
const PAIRS: readonly {
  readonly name: string;
  readonly limitMs: number;
  readonly direct: () => Promise<unknown>;
  readonly engine: Work;
}[] = [
  {
    name: "model call",
    limitMs: LIMIT_MODEL_MS,
    direct: () => generateText({ model: instant, messages: SDK_MESSAGES, tools: TOOLS }),
    engine: (services) => services.model(provider, MESSAGES, { tools: DEFINITIONS }),
  },
  {
    name: "streamed model call",
    limitMs: LIMIT_MODEL_MS,
    direct: async () => {
      let count = 0;
      for await (const _ of streamText({ model: instant, messages: SDK_MESSAGES, tools: TOOLS }).stream) count++;
      return count;
    },
    engine: async (services) => {
      let count = 0;
      for await (const _ of services.streamModel(provider, MESSAGES, { tools: DEFINITIONS })) count++;
      return count;
    },
  },
  {
    name: "tool call",
    limitMs: LIMIT_TOOL_MS,
    direct: async () => add.execute({ a: 1 }, undefined as never),
    engine: (services) => services.dispatch({ id: `c${next++}`, name: "add", arguments: { a: 1 } }),
  },
];
let next = 0;

const driver: ExecutionDriver = {
  id: "bench",
  version: 1,
  capabilities: { controls: [], durable: false, policyCoverage: "local", controlledExecution: true },
  start: async (_request, services) => {
    for (const pair of PAIRS) await report(pair, services);
    return { text: "" };
  },
};

async function report({ name, limitMs, direct, engine }: (typeof PAIRS)[number], services: HarnessExecutionServices) {
  const rounds: { readonly direct: Cost; readonly engine: Cost }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const costs = { direct: await measure(direct), engine: await measure(() => engine(services)) };
    if (round > 0) rounds.push(costs);
  }
  const figures = (["cpuMs", "wallMs"] as const).map((kind) => {
    const of = (way: "direct" | "engine"): number => median(rounds.map((costs) => costs[way][kind]));
    return {
      direct: of("direct"),
      engine: of("engine"),
      added: median(rounds.map((costs) => costs.engine[kind] - costs.direct[kind])),
    };
  });
  const [cpu, wall] = figures.map(
    ({ direct: d, engine: e, added }) => `${micros(d)} -> ${micros(e)}, added ${micros(added)}`,
  );
  const ok = (figures[0]?.added ?? 0) < limitMs;
  console.log(`${name.padEnd(20)} CPU ${cpu}   (wall ${wall})   limit ${micros(limitMs)}   ${ok ? "ok" : "TOO SLOW"}`);
  if (!ok) process.exitCode = 1;
}

function micros(ms: number): string {
  return `${(ms * 1000).toFixed(0)} µs`;
}

interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** What one call costs: CPU time of all threads, which a busy machine hardly changes, and time on the wall. */
async function measure(call: () => Promise<unknown>): Promise<Cost> {
  const before = process.cpuUsage();
  const begin = performance.now();
  for (let count = 0; count < CALLS; count++) await call();
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1000 / CALLS, wallMs: (performance.now() - begin) / CALLS };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const runtime = new HarnessRuntime({
  driver,
  tools: [add],
  grants: { toolIds: ["add"], modelRoles: ["main"] },
  budgets: { maxTokens: 1e9, maxModelCalls: 1e9, maxToolCalls: 1e9 },
  approvalManager: createApprovalManager(),
});
const result = await runtime.run("measure", { identity: { tenantId: "bench", userId: "bench" }, sessionId: "bench" });
if (result.status !== "completed") throw new Error(result.reason?.message);
await runtime.close();
