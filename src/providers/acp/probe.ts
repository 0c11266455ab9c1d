import type { Clock } from "../../core/clock.js";
import type { ProviderHost } from "../../core/provider.js";
import type { ProcessContainment } from "../containment/containment.js";
import type { AgentInfo } from "./agent-info.js";
import { probeAgent } from "./agent-process.js";
import { buildEnvironment } from "./environment.js";
import { type AgentProblem, problemOf } from "./failure.js";
import type { AgentSettings } from "./settings.js";

/** What will be so the next time as well, until somebody mends it. */
const LASTING: ReadonlySet<AgentProblem | undefined> = new Set<AgentProblem>(["start_failed", "protocol_version"]);
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 300_000;

export interface ProbeOptions {
  readonly settings: AgentSettings;
  readonly clock: Clock;
  readonly containment: ProcessContainment;
  readonly host: ProviderHost;
  /** Called with what the agent said of itself. */
  readonly learned: (info: AgentInfo) => void;
}

/** Asks an agent that is not known what it can do; where it does not start, again until it does. */
export class Probe {
  /** Why the agent does not start; undefined where it did, or may. */
  problem: string | undefined;
  private asking: Promise<void> = Promise.resolve();
  private stopRetry: (() => void) | undefined;
  private isClosed = false;

  constructor(private readonly options: ProbeOptions) {}

  /** Resolves after the first answer, or without one. */
  async open(): Promise<void> {
    await this.ask(FIRST_RETRY_MS);
  }

  /** Asks no more, and waits for what is being asked. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.stopRetry?.();
    await this.asking;
  }

  private ask(retryMs: number): Promise<void> {
    const { settings, host } = this.options;
    this.asking = this.askOnce(retryMs).catch((error: unknown) => {
      host.log.warn({ provider: settings.id, error: String(error) }, "what a question to the agent left was not ended");
    });
    return this.asking;
  }

  private async askOnce(retryMs: number): Promise<void> {
    const { settings, clock, containment, host } = this.options;
    const { dataDir, log } = host;
    const tree = containment.createTree("probe");
    const options = { settings, clock, log, tree, cwd: settings.cwd ?? dataDir, env: buildEnvironment(settings) };
    try {
      const info = await probeAgent(options);
      this.problem = undefined;
      this.options.learned(info);
    } catch (error) {
      log.warn({ provider: settings.id, error: String(error) }, "the agent could not be asked what it can do");
      if (LASTING.has(problemOf(error)) && !this.isClosed) this.askAgain(error as Error, retryMs);
      else this.problem = undefined;
    } finally {
      await tree.end();
    }
    host.changed();
  }

  private askAgain({ message }: Error, retryMs: number): void {
    this.problem = message;
    this.stopRetry = this.options.clock.after(retryMs, () => void this.ask(Math.min(2 * retryMs, LONGEST_RETRY_MS)));
  }
}
