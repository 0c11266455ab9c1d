import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { type Clock, systemClock } from "../../core/clock.js";
import type { CleanupReport, Provider, ProviderContext, ProviderHost } from "../../core/provider.js";
import type { HaltCause } from "../../core/turn-aborted.js";
import { agentDriver } from "../../engine/agent/agent-driver.js";
import { type DriverProviderOptions, driverProvider } from "../../engine/driver-provider.js";
import { messageOf } from "../../engine/errors.js";
import type { ModelRoleBinding } from "../../engine/model.js";
import { reflectionPolicy } from "../../engine/stock/reflection.js";
import { summaryPolicy } from "../../engine/stock/summary.js";
import { openContainment, type ProcessContainment } from "../containment/containment.js";
import { toCleanup } from "../containment/report.js";
import { connectMcp, type McpHost, mcpAbility } from "./mcp-ability.js";
import { type Environment, openModel } from "./models.js";
import { approvalPolicy } from "./policy.js";
import { type AgentSettings, checkAgentSettings } from "./settings.js";

export interface AgentProviderOptions {
  /** Default: this process's. */
  readonly env?: Environment;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/** How long after a failed try an agent's models and servers are tried again: doubled each time, up to the second. */
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 60_000;
/** How long the runtime's start waits for an agent; after that it becomes available when it can. */
const PATIENCE_MS = 5_000;

/**
 * The stock agent, governed by settings alone. It becomes available once its
 * models are there and each of its MCP servers answered; until then it says what
 * is missing and tries again. Throws VALIDATION_ERROR where the settings make no sense.
 */
export function agentProvider(settings: AgentSettings, options: AgentProviderOptions = {}): Provider {
  checkAgentSettings(settings);
  return new AgentProvider(settings, options.env ?? process.env, options.clock ?? systemClock);
}

type Phase =
  | { readonly name: "starting"; readonly problem: string }
  | { readonly name: "ready"; readonly provider: Provider }
  | { readonly name: "closed" };

class AgentProvider implements Provider {
  readonly manifest: Provider["manifest"];
  readonly enforcesBudgets = true;
  readonly capacity: number;
  readonly cancelTimeoutMs: number;
  readonly #settings: AgentSettings;
  readonly #env: Environment;
  readonly #clock: Clock;
  #phase: Phase = { name: "starting", problem: "it is being started" };
  #stopRetry: (() => void) | undefined;
  #host: ProviderHost | undefined;
  #containment: Promise<ProcessContainment> | undefined;

  constructor(settings: AgentSettings, env: Environment, clock: Clock) {
    this.#settings = settings;
    this.#env = env;
    this.#clock = clock;
    const blank = driverProvider(driverOf(settings), {
      ...policiesOf(settings),
      grants: { toolIds: [], modelRoles: [] },
    });
    this.manifest = blank.manifest;
    this.capacity = settings.capacity ?? 64;
    this.cancelTimeoutMs = blank.cancelTimeoutMs ?? 10_000;
  }

  availability() {
    if (this.#phase.name === "ready") return { available: true, reason: "" };
    return { available: false, reason: this.#phase.name === "starting" ? this.#phase.problem : "it is closed" };
  }

  async open(host: ProviderHost): Promise<void> {
    this.#host = host;
    // The AI SDK's warnings about models it does not know belong in nobody's log.
    Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
    const patience = Promise.withResolvers<void>();
    const stopTimer = this.#clock.after(PATIENCE_MS, patience.resolve);
    await Promise.race([this.#begin(FIRST_RETRY_MS), patience.promise]);
    stopTimer();
  }

  async close(): Promise<void> {
    this.#phase = { name: "closed" };
    this.#stopRetry?.();
    const containment = await this.#containment?.catch(() => undefined);
    await containment?.close();
  }

  checkStart(execution: Execution): void {
    this.#ready().checkStart?.(execution);
  }

  async run(context: ProviderContext) {
    return await this.#ready().run(context);
  }

  async cancel(context: ProviderContext, reason: string, why: HaltCause) {
    return await this.#ready().cancel?.(context, reason, why);
  }

  async dispose(context: ProviderContext): Promise<void> {
    if (this.#phase.name === "ready") await this.#phase.provider.dispose?.(context);
  }

  async recover({ id }: Execution): Promise<CleanupReport | undefined> {
    const containment = await this.#containment?.catch(() => undefined);
    return toCleanup(containment?.swept.get(id));
  }

  #ready(): Provider {
    if (this.#phase.name === "ready") return this.#phase.provider;
    throw new Error(`the agent is not available: ${this.availability().reason}`);
  }

  /** Tries to become available, and arms the next try where that fails. */
  async #begin(retryMs: number): Promise<void> {
    const host = this.#host;
    if (host === undefined || this.#isClosed()) return;
    try {
      const provider = await this.#make(host);
      await provider.open?.(host);
      if (this.#isClosed()) return;
      this.#phase = { name: "ready", provider };
      host.changed();
    } catch (error) {
      if (this.#isClosed()) return;
      const problem = messageOf(error);
      host.log.warn({ providerId: this.manifest.id, problem, retryMs }, "the agent is not available");
      this.#phase = { name: "starting", problem };
      this.#stopRetry = this.#clock.after(retryMs, () => {
        void this.#begin(Math.min(retryMs * 2, LONGEST_RETRY_MS));
      });
    }
  }

  #isClosed(): boolean {
    return this.#phase.name === "closed";
  }

  async #make(host: ProviderHost): Promise<Provider> {
    const settings = this.#settings;
    const mcp = { env: this.#env, containment: await this.#contain(host) };
    const models: [string, ModelRoleBinding][] = [];
    for (const [role, model] of Object.entries(settings.models)) {
      models.push([role, { provider: await openModel(model, this.#env) }]);
    }
    const servers = Object.entries(settings.mcp ?? {});
    const offered = await Promise.all(servers.map(async ([name, server]) => await toolsOf(name, server, mcp)));
    checkDistinct(servers.flatMap(([name], index) => (offered[index] ?? []).map((tool) => ({ server: name, tool }))));
    const options: DriverProviderOptions = {
      ...policiesOf(settings),
      models: Object.fromEntries(models),
      abilities: servers.map(([name, server]) => mcpAbility(name, server, mcp)),
      grants: {
        toolIds: toolIds(settings, offered.flat()),
        requiredToolIds: settings.requiredTools ?? [],
        modelRoles: Object.keys(settings.models),
      },
      executionPolicy: approvalPolicy(settings.approvals ?? "unsafe"),
    };
    return driverProvider(driverOf(settings), options);
  }

  /** What holds the MCP servers. They are marked and no more: a namespace hides things that a server may be there to show. */
  #contain({ dataDir, log }: ProviderHost): Promise<ProcessContainment> {
    this.#containment ??= openContainment({ dataDir, mode: "marked", log }).catch((error) => {
      this.#containment = undefined;
      throw error;
    });
    return this.#containment;
  }
}

/** What a server has: asked once, so that a server that is not there is known before any execution. */
async function toolsOf(
  name: string,
  server: NonNullable<AgentSettings["mcp"]>[string],
  mcp: McpHost,
): Promise<readonly string[]> {
  const connection = await connectMcp(server, mcp, "probe").catch((error) => {
    throw new Error(`mcp.${name}: ${messageOf(error)}`, { cause: error });
  });
  await connection.close();
  return connection.tools.map(({ name }) => name);
}

/** Of two tools with one name no execution could call either: throws an error that names their servers. */
function checkDistinct(offered: readonly { readonly server: string; readonly tool: string }[]): void {
  for (const [index, { server, tool }] of offered.entries()) {
    const first = offered.findIndex((other) => other.tool === tool);
    if (first === index) continue;
    throw new Error(
      `the MCP servers ${offered[first]?.server} and ${server} both have a tool ${tool}; give one of them a prefix, or leave it out with only`,
    );
  }
}

function toolIds({ tools = "all" }: AgentSettings, offered: readonly string[]): readonly string[] {
  if (tools === "all") return offered;
  const missing = tools.filter((name) => !offered.includes(name));
  if (missing.length > 0)
    throw new Error(`no MCP server has the tool ${missing.join(", ")}; they have ${offered.join(", ")}`);
  return tools;
}

function driverOf({
  id = "agent",
  instructions,
  temperature,
  maxTokens,
  maxSteps,
  outputSchema,
  stream,
}: AgentSettings) {
  return agentDriver({
    id,
    ...(instructions === undefined ? {} : { instructions }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(stream === undefined ? {} : { stream }),
  });
}

/** The parts of a configuration that need no model and no server. */
function policiesOf({ critic, summary, budgets, capacity }: AgentSettings): Omit<DriverProviderOptions, "grants"> {
  const maxRevisions = critic === undefined ? {} : { maxRevisions: critic.maxRevisions ?? 1 };
  return {
    budgets: { ...maxRevisions, ...budgets },
    ...(critic === undefined ? {} : { completionPolicy: reflectionPolicy(critic) }),
    ...(summary === undefined ? {} : { contextPolicy: summaryPolicy(summary) }),
    ...(capacity === undefined ? {} : { capacity }),
  };
}
