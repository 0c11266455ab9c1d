import { type ClientConnection, methods, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";
import type { Clock } from "../../core/clock.js";
import type { Log } from "../../core/provider.js";
import { findCommand } from "../containment/command.js";
import type { ContainedProcess, ProcessTree } from "../containment/tree.js";
import { type AgentHost, createClient } from "./agent-host.js";
import { type AgentInfo, initializeRequest, readInfo } from "./agent-info.js";
import { agentError, answeredError, folderMissing } from "./failure.js";
import { type Fields, fieldsOf } from "./json.js";
import { type MessageSink, messageStream } from "./message-stream.js";
import { createOutputTail, createRedact, type OutputTail, type Redact } from "./redact.js";
import type { AgentSettings } from "./settings.js";
import { settledWithin, withLimit } from "./time-limit.js";
import { isFolder } from "./workspace.js";

export interface AgentOptions {
  readonly settings: AgentSettings;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Where the agent is started; whoever made it ends it. */
  readonly tree: ProcessTree;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long an agent's last output is waited for after it has ended. */
const DRAIN_MS = 200;

/** A running agent, initialized. */
export class AgentProcess {
  /** Lines on its standard output that were no messages. */
  noise = 0;
  info: AgentInfo = readInfo({});
  private connection: ClientConnection | undefined;
  private endReport: string | undefined;
  private exitCode: number | undefined;
  private readonly stderr: OutputTail;

  private constructor(
    private readonly options: AgentOptions,
    private readonly process: ContainedProcess,
    /** Strikes out the credentials that the agent was given. */
    readonly redact: Redact,
  ) {
    this.stderr = createOutputTail(redact);
  }

  /** Starts the agent and agrees on the protocol with it. */
  static async start(options: AgentOptions, host: AgentHost): Promise<AgentProcess> {
    const { settings, env, cwd, tree } = options;
    // The system would name the program that is to be started in it, not the folder.
    if (!isFolder(cwd)) throw folderMissing(cwd);
    const command = findCommand(settings.command, env["PATH"] ?? "", cwd);
    if (command === undefined) throw commandMissing(settings);
    const process = await tree.spawn({ command, args: settings.args, cwd, env }).catch((cause) => {
      throw startFailed(settings, `cannot be started: ${cause instanceof Error ? cause.message : cause}`, "", cause);
    });
    const agent = new AgentProcess(options, process, createRedact(env));
    agent.connect(host);
    await agent.initialize();
    return agent;
  }

  /** Whether it can still be asked anything. */
  get isAlive(): boolean {
    return this.connection?.signal.aborted === false;
  }

  /** Resolves when the agent's process has ended or its output has. */
  get closed(): Promise<void> {
    return this.connection?.closed ?? Promise.resolve();
  }

  /** Its last words on standard error, redacted. */
  lastWords(): string {
    return this.stderr.text();
  }

  /**
   * Sends a request. Rejects with the agent's own error, or with `agent_ended`
   * where it ended instead of answering.
   */
  async request(method: string, params: Fields): Promise<Fields> {
    try {
      return fieldsOf(await this.mustConnection().agent.request<unknown, Fields>(method, params));
    } catch (error) {
      if (this.isAlive) throw error;
      await settledWithin(this.process.exited, DRAIN_MS, this.options.clock);
      const end = `ended ${this.endReport ?? "its output"} before it had answered`;
      const { settings } = this.options;
      // One that ends by itself before it can be asked anything was not lost: it will not start the next time either.
      if (method === methods.agent.initialize && this.exitCode !== undefined) {
        throw startFailed(settings, end, this.lastWords(), error);
      }
      throw agentError("agent_ended", `${settings.label} ${end}`, this.lastWords(), error);
    }
  }

  /** Sends a notification; one to an agent that has ended goes nowhere. */
  notify(method: string, params: Fields): void {
    void this.mustConnection()
      .agent.notify(method, params)
      .catch(() => {});
  }

  private mustConnection(): ClientConnection {
    if (this.connection === undefined) throw new Error("the agent is not connected");
    return this.connection;
  }

  private connect(host: AgentHost): void {
    const { process } = this;
    process.stderr.on("data", (chunk: Uint8Array) => this.stderr.add(chunk));
    const { maxLineBytes } = this.options.settings.limits;
    const connection = createClient(host).connect(
      messageStream(process.stdin, process.stdout, maxLineBytes, this.sinkTo(host)),
    );
    this.connection = connection;
    this.closeAtEnd(connection).catch((error) => {
      this.options.log.warn({ error: String(error) }, "the connection to the agent was not closed");
    });
  }

  /** A child that lives on may hold the output open: the agent's own end is what counts. */
  private async closeAtEnd(connection: ClientConnection): Promise<void> {
    const { code, signal } = await this.process.exited;
    this.exitCode = code;
    this.endReport = signal === undefined ? `with exit code ${code}` : `by ${signal}`;
    await settledWithin(connection.closed, DRAIN_MS, this.options.clock);
    connection.close();
  }

  private sinkTo(host: AgentHost): MessageSink {
    const { log } = this.options;
    return {
      notify: (method, params) => {
        if (method === methods.client.session.update) host.update(fieldsOf(params));
      },
      noise: (line) => {
        this.noise++;
        log.debug({ bytes: line.length, count: this.noise }, "the agent wrote a line that is no message");
      },
      dropped: (method, sizeBytes) => {
        log.warn({ method, sizeBytes }, "a message of the agent was too long and was dropped");
        host.dropped(method, sizeBytes);
      },
      ready: () => host.ready(),
    };
  }

  private async initialize(): Promise<void> {
    const { settings, clock } = this.options;
    const { initializeMs } = settings.limits;
    const answering = this.request(methods.agent.initialize, { ...initializeRequest(settings) });
    const answer = await withLimit(
      answering.catch((error) => this.refuseStart(error)),
      initializeMs,
      clock,
      () =>
        agentError(
          "start_timeout",
          `${settings.label} did not answer \`initialize\` within ${initializeMs} ms: see whether ${commandLine(settings)} ` +
            "speaks the Agent Client Protocol on its standard streams, or raise limits.initialize_ms",
          this.lastWords(),
        ),
    );
    if (answer["protocolVersion"] !== PROTOCOL_VERSION) {
      throw agentError(
        "protocol_version",
        `${settings.label} speaks version ${String(answer["protocolVersion"])} of the Agent Client Protocol and this runtime speaks ` +
          `${PROTOCOL_VERSION}: install a version of the agent that does`,
      );
    }
    this.info = readInfo(answer);
  }

  /** Says what to do where the agent answered `initialize` with an error. */
  private refuseStart(error: unknown): never {
    const answer = answeredError(error);
    if (answer === undefined) throw error;
    const said = `refused \`initialize\` (${this.redact(answer.message)})`;
    throw startFailed(this.options.settings, said, this.lastWords(), error);
  }
}

/** Starts an agent only to learn what it says of itself. Whoever made the tree ends it. */
export async function probeAgent(options: AgentOptions): Promise<AgentInfo> {
  const nothing = (): never => {
    throw RequestError.invalidRequest(undefined, "there is no session");
  };
  const host: AgentHost = {
    update: () => {},
    dropped: () => {},
    ready: () => undefined,
    ...{
      requestPermission: nothing,
      elicit: nothing,
      readTextFile: nothing,
      writeTextFile: nothing,
      terminals: nothing,
    },
  };
  return (await AgentProcess.start(options, host)).info;
}

/** The error for an agent that cannot be started; `what` goes on after its name. */
function startFailed(settings: AgentSettings, what: string, stderr: string, cause: unknown): Error {
  const advice = `see whether ${commandLine(settings)} runs by itself and speaks version ${PROTOCOL_VERSION} of the Agent Client Protocol`;
  return agentError("start_failed", `${settings.label} ${what}: ${advice}`, stderr, cause);
}

function commandLine({ command, args }: AgentSettings): string {
  return `\`${[command, ...args].join(" ")}\``;
}

/** The error for a command that is not installed. */
export function commandMissing({ label, command, install }: AgentSettings): Error {
  const how = install === "" ? "install it" : `install it with \`${install}\``;
  const what = command.includes("/")
    ? `there is no file ${command} that may be executed`
    : `there is no program ${JSON.stringify(command)} on the PATH`;
  return agentError("command_missing", `${label} cannot be started: ${what}; ${how}, or set \`command\` to its path`);
}
