import { afterEach } from "vitest";
import type { Clock } from "../../src/core/clock.js";
import type { Append, Store } from "../../src/core/store.js";
import {
  type ChatMessage,
  type ExecutionDriver,
  type HarnessDriverOutput,
  type HarnessEvent,
  type HarnessExecutionServices,
  type HarnessGrants,
  type HarnessResult,
  type HarnessRunRequest,
  HarnessRuntime,
  type HarnessRuntimeConfig,
  type HarnessStartOptions,
  type ModelProvider,
  type ModelResponse,
  type RunHandle,
  type StreamChunk,
  type TokenUsage,
  type ToolDef,
} from "../../src/engine.js";
import { openMemoryStore } from "../../src/store/memory.js";

/** What a test's driver does in one turn; returning a text alone completes it. */
export type Script = (
  services: HarnessExecutionServices,
  request: HarnessRunRequest,
) => Promise<HarnessDriverOutput | string> | HarnessDriverOutput | string;

/** Returns a governed driver of a script. */
export function driver(script: Script, overrides: Partial<ExecutionDriver> = {}): ExecutionDriver {
  return {
    id: "test-driver",
    version: 1,
    capabilities: {
      controls: ["follow_up", "steer", "replace"],
      durable: false,
      policyCoverage: "local",
      controlledExecution: true,
    },
    interruptible: true,
    start: async (request, services) => {
      const output = await script(services, request);
      return typeof output === "string" ? { text: output } : output;
    },
    ...overrides,
  };
}

export const ADA = { tenantId: "acme", userId: "ada" };
export const NO_GRANTS: HarnessGrants = { toolIds: [], modelRoles: [] };
export const OPTIONS: HarnessStartOptions = { identity: ADA, sessionId: "s1" };

const open: HarnessRuntime[] = [];

afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close();
});

/** Opens a runtime that is closed after the test. */
export function runtimeOf(
  script: Script | ExecutionDriver,
  config: Partial<HarnessRuntimeConfig> = {},
): HarnessRuntime {
  const runtime = new HarnessRuntime({
    driver: typeof script === "function" ? driver(script) : script,
    grants: NO_GRANTS,
    cleanupTimeoutMs: 200,
    ...config,
  });
  open.push(runtime);
  return runtime;
}

/** Runs one script to its end. */
export function runOnce(
  script: Script,
  config: Partial<HarnessRuntimeConfig> = {},
  options: Partial<HarnessStartOptions> = {},
): Promise<HarnessResult> {
  return runtimeOf(script, config).run("hello", { ...OPTIONS, ...options });
}

/** Returns all events of a run, once it is over. */
export async function eventsOf(handle: RunHandle): Promise<readonly HarnessEvent[]> {
  const events: HarnessEvent[] = [];
  for await (const event of handle.events()) events.push(event);
  return events;
}

/** Resolves with the first event of a type. */
export async function eventOf<T extends HarnessEvent["payload"]["type"]>(
  handle: RunHandle,
  type: T,
): Promise<Extract<HarnessEvent["payload"], { type: T }>> {
  for await (const { payload } of handle.events()) {
    if (payload.type === type) return payload as Extract<HarnessEvent["payload"], { type: T }>;
  }
  throw new Error(`the run ended with no ${type}`);
}

/** Resolves when the signal is aborted, as a driver that can be interrupted does. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

export const USAGE: TokenUsage = { promptTokens: 3, completionTokens: 2, totalTokens: 5 };

export function answer(content: string, more: Partial<ModelResponse> = {}): ModelResponse {
  return { message: { role: "assistant", content }, usage: USAGE, finishReason: "stop", raw: undefined, ...more };
}

type Generate = (
  messages: readonly ChatMessage[],
  options: Parameters<ModelProvider["generate"]>[1],
) => ModelResponse | Promise<ModelResponse>;

/** A model that answers with a function and remembers what it was asked. */
export interface FakeModel extends ModelProvider {
  readonly calls: { readonly messages: readonly ChatMessage[]; readonly options: Parameters<Generate>[1] }[];
}

export function model(generate: Generate = () => answer("fine"), chunks?: readonly StreamChunk[]): FakeModel {
  const calls: FakeModel["calls"] = [];
  return {
    providerId: "fake",
    modelId: "fake-1",
    calls,
    async generate(messages, options) {
      calls.push({ messages, options });
      return await generate(messages, options);
    },
    async *stream(messages, options) {
      calls.push({ messages, options });
      yield* chunks ?? [
        { type: "text", text: "fi" },
        { type: "text", text: "ne" },
        { type: "finish", finishReason: "stop", usage: USAGE },
      ];
    },
  };
}

export const MAIN: HarnessGrants = { toolIds: [], modelRoles: ["main"] };

export function tool(name: string, more: Partial<ToolDef> = {}): ToolDef {
  return {
    name,
    description: `does ${name}`,
    parameters: { type: "object" },
    effect: "read",
    execute: () => `${name} done`,
    ...more,
  };
}

/** A store in memory that calls `before` ahead of each append, which waits for it. */
export function storeThat(before: (write: Append) => Promise<void> | void): Store {
  const store = openMemoryStore();
  const append: Store["append"] = async (write) => {
    await before(write);
    await store.append(write);
  };
  return new Proxy(store, {
    get(target, key) {
      if (key === "append") return append;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A clock that stands still until it is told to go on. */
export class ManualClock implements Clock {
  #nowMs = Date.UTC(2030, 0, 1);
  readonly #timers = new Set<{ readonly atMs: number; readonly run: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves the time on and runs nothing: whoever looks at the clock sees it first. */
  advanceQuietly(byMs: number): void {
    this.#nowMs += byMs;
  }

  /** Moves the time on and runs what is due, in order. */
  advance(byMs: number): void {
    this.advanceQuietly(byMs);
    const due = [...this.#timers]
      .filter(({ atMs }) => atMs <= this.#nowMs)
      .sort((left, right) => left.atMs - right.atMs);
    for (const timer of due) {
      this.#timers.delete(timer);
      timer.run();
    }
  }
}
