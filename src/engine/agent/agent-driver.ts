import type { ExecutionDriver } from "../driver.js";
import type { ModelProvider } from "../model.js";
import { runAgent } from "./agent-loop.js";

export interface AgentDriverOptions {
  /** Default `agent`. */
  readonly id?: string;
  /** Default 1. */
  readonly version?: number;
  /** Answers for the role `main` where the host binds no model to it. */
  readonly model?: ModelProvider;
  /** System text. A definition's own instructions come before it. */
  readonly instructions?: string;
  /** The role whose model answers. Default `main`. */
  readonly modelRole?: string;
  readonly temperature?: number;
  /** The most tokens of one answer. */
  readonly maxTokens?: number;
  /** The most model calls of one turn; one more ends the run as `stopped`. Default 50. */
  readonly maxSteps?: number;
  /** A JSON Schema that the final answer must fit; the result's `structured` is that answer. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** Whether the answer is shown as it is written. Default true. */
  readonly stream?: boolean;
}

/**
 * Makes the stock agent: asks the model, calls the tools that it asks for, and so
 * on until it answers. Steers are heard between complete tool groups; follow-ups
 * and replacements are turns. What a definition says goes before these options.
 */
export function agentDriver(options: AgentDriverOptions = {}): ExecutionDriver {
  return {
    id: options.id ?? "agent",
    version: options.version ?? 1,
    capabilities: {
      controls: ["follow_up", "steer", "replace"],
      durable: false,
      policyCoverage: "local",
      controlledExecution: true,
    },
    interruptible: true,
    start: (request, services) => runAgent(options, request, services),
  };
}
