import type { Execution } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Clock } from "../../core/clock.js";
import type { Log, ProviderContext } from "../../core/provider.js";
import type { ProcessContainment } from "../containment/containment.js";
import type { ContainmentResult } from "../containment/report.js";
import type { ProcessTree } from "../containment/tree.js";
import { AgentSession } from "./agent-session.js";
import { ConversationFiles } from "./conversation-files.js";
import { buildEnvironment } from "./environment.js";
import { agentError } from "./failure.js";
import { textOf } from "./json.js";
import type { AgentSettings } from "./settings.js";

export interface PoolOptions {
  readonly settings: AgentSettings;
  readonly containment: ProcessContainment;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** An agent at work on a conversation, or waiting for its next execution. */
interface Entry {
  readonly tree: ProcessTree;
  /** What it was started with: another execution may need another. */
  readonly setup: string;
  readonly session: Promise<AgentSession>;
  /** Set once it is being ended: it takes no further execution. */
  ended: Promise<ContainmentResult> | undefined;
  /** The execution that has it; undefined while it waits. */
  executionId: string | undefined;
  stopIdle: () => void;
}

/** The agents of one provider: one process and one session for each conversation, while it lives. */
export class SessionPool {
  private readonly entries = new Map<string, Entry>();
  private readonly files: ConversationFiles;
  /** What goes on by itself, and is waited for at the end. None of it rejects. */
  private readonly pending = new Set<Promise<void>>();

  constructor(private readonly options: PoolOptions) {
    this.files = new ConversationFiles(options.dataDir, options.clock);
    this.inBackground(this.files.prune());
  }

  /** Returns the conversation's session for an execution: the one that waits, or that of a new process. */
  async acquire(context: ProviderContext, earlierId?: string): Promise<AgentSession> {
    const { id, conversationId } = context.execution;
    const setup = JSON.stringify([context.config["cwd"], context.config["mcp_servers"], context.config["mode"]]);
    const entry = this.entries.get(conversationId);
    if (entry !== undefined) {
      if (entry.executionId !== undefined && entry.executionId !== id) {
        throw agentError("conversation_busy", `another execution of the conversation ${conversationId} has its agent`);
      }
      entry.stopIdle();
      entry.executionId = id;
      const session = await entry.session.catch(() => undefined);
      if (session?.isAlive && entry.ended === undefined && entry.setup === setup) return session;
      await this.end(conversationId);
    }
    return this.start(context, setup, earlierId);
  }

  /** Gives the session back: it waits for the next execution, unless it has ended. */
  async release({ id, conversationId }: Pick<Execution, "id" | "conversationId">): Promise<void> {
    const { limits } = this.options.settings;
    const entry = this.entries.get(conversationId);
    if (entry?.executionId !== id) return;
    const session = await entry.session.catch(() => undefined);
    this.inBackground(this.files.touch(conversationId));
    entry.executionId = undefined;
    if (!session?.isAlive || limits.maxIdle === 0) {
      await this.end(conversationId);
      return;
    }
    entry.stopIdle = this.options.clock.after(limits.idleMs, () => this.endLater(conversationId, entry));
    // Entries are in the order of their use: the first that waits has waited longest.
    this.entries.delete(conversationId);
    this.entries.set(conversationId, entry);
    // One that is already being ended takes its time, and is not one of those that wait.
    const idle = [...this.entries].filter(([, other]) => other.executionId === undefined && other.ended === undefined);
    for (const longest of idle.slice(0, Math.max(idle.length - limits.maxIdle, 0))) this.endLater(...longest);
  }

  /** Ends the conversation's agent and all that it started; `eofGraceMs` goes before the settings. Undefined where there is none. */
  async end(conversationId: string, eofGraceMs?: number): Promise<ContainmentResult | undefined> {
    const { eofMs, termMs } = this.options.settings.limits;
    const entry = this.entries.get(conversationId);
    if (entry === undefined) return undefined;
    entry.stopIdle();
    entry.ended ??= entry.tree.end({ eofGraceMs: eofGraceMs ?? eofMs, termGraceMs: termMs });
    const report = await entry.ended;
    // One that an execution still has stays, for the execution to learn how it ended.
    if (entry.executionId === undefined && this.entries.get(conversationId) === entry) {
      this.entries.delete(conversationId);
    }
    return report;
  }

  /** Ends all agents. */
  async close(): Promise<void> {
    await Promise.all([...this.pending, ...[...this.entries.keys()].map((id) => this.end(id))]);
  }

  private endLater(conversationId: string, entry: Entry): void {
    if (this.entries.get(conversationId) !== entry) return;
    this.inBackground(this.end(conversationId));
  }

  private inBackground(work: Promise<unknown>): void {
    const { log, settings } = this.options;
    const done = work.then(
      () => {},
      (error) => log.warn({ provider: settings.id, error: String(error) }, "something beside the executions failed"),
    );
    const pending = done.then(() => void this.pending.delete(pending));
    this.pending.add(pending);
  }

  private async start(context: ProviderContext, setup: string, earlierId?: string): Promise<AgentSession> {
    const { settings, containment, clock, log } = this.options;
    const { id, conversationId } = context.execution;
    context.signal.throwIfAborted();
    const tree = containment.createTree(conversationId);
    const open = async (): Promise<AgentSession> =>
      AgentSession.open({
        ...{ settings, tree, clock, log, config: context.config, env: buildEnvironment(settings) },
        cwd: await this.folderOf(context),
        earlier: await this.files.readSession(conversationId, earlierId),
      });
    const entry: Entry = { tree, setup, session: open(), ended: undefined, executionId: id, stopIdle: () => {} };
    this.entries.set(conversationId, entry);
    try {
      const session = await entry.session;
      await this.files.writeSession(conversationId, session);
      // An agent that ends by itself, also while it waits, may leave something behind.
      const endLater = (): void => this.endLater(conversationId, entry);
      void session.process.closed.then(endLater, endLater);
      return session;
    } catch (error) {
      await this.end(conversationId);
      throw error;
    }
  }

  private async folderOf({ config, execution }: ProviderContext): Promise<string> {
    const named = textOf(config["cwd"]) ?? this.options.settings.cwd;
    return named ?? this.files.workspaceOf(execution.conversationId);
  }
}
