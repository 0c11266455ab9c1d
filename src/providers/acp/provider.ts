import { realpathSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import type { ProviderManifest } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { type Clock, systemClock } from "../../core/clock.js";
import type { FieldViolation } from "../../core/errors.js";
import type { CleanupReport, Provider, ProviderContext, ProviderHost, TurnOutcome } from "../../core/provider.js";
import { ProviderLostError } from "../../core/provider-lost.js";
import { findCommand } from "../containment/command.js";
import { openContainment, type ProcessContainment } from "../containment/containment.js";
import { toCleanup } from "../containment/report.js";
import { DEFAULT_END_LIMITS } from "../containment/tree.js";
import type { AgentInfo } from "./agent-info.js";
import { commandMissing } from "./agent-process.js";
import type { AgentSession } from "./agent-session.js";
import { buildEnvironment } from "./environment.js";
import { agentError, failedTurn, folderMissing } from "./failure.js";
import { fieldsOf, textOf } from "./json.js";
import { createManifest } from "./manifest.js";
import { checkMcpServers } from "./mcp.js";
import { Probe } from "./probe.js";
import { CONTINUE_PROMPT, historyPrompt, toPrompt } from "./prompt.js";
import { SessionPool } from "./session-pool.js";
import { type AcpSettings, type AgentSettings, resolveSettings } from "./settings.js";
import { settledWithin } from "./time-limit.js";
import { Turn } from "./turn.js";
import { nativeEvent } from "./updates.js";
import { contains, isFolder } from "./workspace.js";

/** What is given to a provider rather than configured. */
export interface AcpDependencies {
  /** Default: the machine's. */
  readonly clock?: Clock;
}

/** What a resumed attempt needs to know, as it is stored. */
interface ResumeState {
  readonly sessionId: string;
  /** The last turn whose prompt may have reached the agent. */
  readonly turn: number;
}

/**
 * A provider that runs any agent which speaks version 1 of the Agent Client
 * Protocol on its standard streams. Each conversation has a process of its own.
 */
export function acpProvider(settings: AcpSettings, dependencies: AcpDependencies = {}): Provider {
  return new AcpProvider(resolveSettings(settings), dependencies.clock ?? systemClock);
}

class AcpProvider implements Provider {
  readonly capacity: number;
  readonly startTimeoutMs: number;
  readonly cancelTimeoutMs: number;
  private loadSession: boolean;
  private declared: ProviderManifest | undefined;
  private containment: ProcessContainment | undefined;
  private pool: SessionPool | undefined;
  private probe: Probe | undefined;
  private readonly turns = new Map<string, Turn>();
  private readonly callIds = new Map<string, Map<string, number>>();
  private readonly failedStarts = new Map<string, unknown>();

  constructor(
    private readonly settings: AgentSettings,
    private readonly clock: Clock,
  ) {
    this.capacity = settings.capacity;
    this.loadSession = settings.loadSession ?? false;
    const { initializeMs, sessionMs, cancelMs, eofMs, termMs } = settings.limits;
    this.cancelTimeoutMs = cancelMs + eofMs + termMs + DEFAULT_END_LIMITS.killLimitMs + 5_000;
    // A session that must not be loaded yet takes a minute more.
    this.startTimeoutMs = initializeMs + 3 * sessionMs + (settings.namesSessionsByMinute ? 70_000 : 10_000);
  }

  get manifest(): ProviderManifest {
    this.declared ??= createManifest(this.settings, this.loadSession, this.containment?.level);
    return this.declared;
  }

  availability() {
    const { PATH = "" } = buildEnvironment(this.settings);
    const { command, cwd } = this.settings;
    if (cwd !== undefined && !isFolder(cwd)) return { available: false, reason: folderMissing(cwd).message };
    const found = findCommand(command, PATH, cwd ?? process.cwd()) !== undefined;
    const problem = found ? this.probe?.problem : commandMissing(this.settings).message;
    return { available: problem === undefined, reason: problem ?? "" };
  }

  checkConfig(config: JsonObject): FieldViolation[] {
    return [...checkFolder(config, this.settings.roots), ...checkMcpServers(config, this.settings.mcp)];
  }

  async open(host: ProviderHost): Promise<void> {
    const { settings, clock } = this;
    const { dataDir, log } = host;
    this.containment = await openContainment({ dataDir, mode: settings.containment, log });
    this.pool = new SessionPool({ settings, clock, containment: this.containment, dataDir, log });
    this.declared = undefined;
    host.changed();
    if (settings.loadSession !== undefined || !this.availability().available) return;
    const learned = ({ reopenMethod }: AgentInfo): void => {
      this.loadSession = reopenMethod !== undefined;
      this.declared = undefined;
    };
    this.probe = new Probe({ settings, clock, containment: this.containment, host, learned });
    await this.probe.open();
  }

  async close(): Promise<void> {
    await this.probe?.close();
    await this.pool?.close();
    await this.containment?.close();
  }

  /** An agent that does not start fails the first turn, which can say why in the contract's words. */
  async start(context: ProviderContext): Promise<void> {
    try {
      await this.mustPool().acquire(context, readState(context)?.sessionId);
    } catch (error) {
      this.failedStarts.set(context.execution.id, error);
    }
  }

  async run(context: ProviderContext): Promise<TurnOutcome> {
    const { id } = context.execution;
    if (this.failedStarts.has(id)) return failedTurn(this.failedStarts.get(id));
    try {
      const session = await this.mustPool().acquire(context, readState(context)?.sessionId);
      const prompt = await promptFor(context, session);
      await noteTurn(context, session);
      return await this.runTurn(context, session, prompt);
    } catch (error) {
      if (error instanceof ProviderLostError) throw error;
      return context.signal.aborted ? { status: "cancelled" } : failedTurn(error);
    }
  }

  async cancel(context: ProviderContext): Promise<CleanupReport | undefined> {
    const turn = this.turns.get(context.execution.id);
    if (turn !== undefined) await settledWithin(turn.settled, this.settings.limits.cancelMs, this.clock);
    return toCleanup(await this.mustPool().end(context.execution.conversationId));
  }

  async dispose({ execution }: ProviderContext): Promise<void> {
    this.failedStarts.delete(execution.id);
    this.callIds.delete(execution.id);
    await this.mustPool().release(execution);
  }

  async recover({ conversationId }: { readonly conversationId: string }): Promise<CleanupReport | undefined> {
    return toCleanup(this.containment?.swept.get(conversationId));
  }

  private async runTurn(
    context: ProviderContext,
    session: AgentSession,
    prompt: readonly ContentBlock[],
  ): Promise<TurnOutcome> {
    const { settings, clock } = this;
    const { id, conversationId } = context.execution;
    const endAgent = () => this.mustPool().end(conversationId, 0);
    const callIds = this.callIds.get(id) ?? new Map<string, number>();
    this.callIds.set(id, callIds);
    const turn = new Turn({ context, session, settings, clock, callIds, endAgent });
    this.turns.set(id, turn);
    try {
      return await turn.run(prompt);
    } finally {
      this.turns.delete(id);
    }
  }

  private mustPool(): SessionPool {
    if (this.pool === undefined) throw new Error("the provider is not open");
    return this.pool;
  }
}

function checkFolder(config: JsonObject, roots: readonly string[]): FieldViolation[] {
  const cwd = textOf(config["cwd"]);
  if (cwd === undefined) return [];
  const real = isAbsolute(cwd) ? realPath(cwd) : undefined;
  if (real === undefined)
    return [{ field: "cwd", description: `must be an absolute path of a folder, and ${cwd} is not` }];
  if (roots.some((root) => contains(realPath(root) ?? root, real))) return [];
  const allowed = roots.length === 0 ? "the provider has no roots" : `the provider's roots are ${roots.join(", ")}`;
  return [{ field: "cwd", description: `${cwd} is not in a folder that the provider may work in: ${allowed}` }];
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function readState({ resume }: ProviderContext): ResumeState | undefined {
  if (resume?.state === undefined) return undefined;
  const { sessionId, turn } = fieldsOf(JSON.parse(Buffer.from(resume.state).toString("utf8")));
  return { sessionId: textOf(sessionId) ?? "", turn: Number(turn) };
}

/** Stores what a resumed attempt needs, and what the turn runs on, before the prompt is sent. */
async function noteTurn(context: ProviderContext, session: AgentSession): Promise<void> {
  const state: ResumeState = { sessionId: session.id, turn: context.turn };
  const { name, version } = session.info;
  const event = nativeEvent("session", { session_id: session.id, loaded: session.loaded, agent: name, version });
  await context.emit(event, { resumeState: Buffer.from(JSON.stringify(state)) });
}

async function promptFor(context: ProviderContext, session: AgentSession): Promise<ContentBlock[]> {
  const state = readState(context);
  if (state !== undefined && state.turn >= context.turn) {
    if (session.loaded && session.id === state.sessionId) return [{ type: "text", text: CONTINUE_PROMPT }];
    throw agentError(
      "outcome_unknown",
      "the runtime ended while the agent was at work, and the agent did not load its session: what it had done is not known; look at the workspace and start anew",
    );
  }
  const prompt = toPrompt(context.input, session.info);
  const history = session.isNew ? historyPrompt(await context.history()) : undefined;
  return history === undefined ? prompt : [history, ...prompt];
}
