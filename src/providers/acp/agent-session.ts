import {
  type ContentBlock,
  type CreateElicitationResponse,
  methods,
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  RequestError,
  type RequestPermissionResponse,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentHost } from "./agent-host.js";
import type { AgentInfo } from "./agent-info.js";
import { type AgentOptions, AgentProcess } from "./agent-process.js";
import { AUTH_REQUIRED, agentError, answeredError, folderMissing } from "./failure.js";
import { readTextFile, writeTextFile } from "./files.js";
import { type Fields, fieldsOf, listOf, textOf } from "./json.js";
import { loginMethod, loginRequired } from "./login.js";
import { toMcpServers } from "./mcp.js";
import { Terminals } from "./terminals.js";
import { withLimit } from "./time-limit.js";
import { openWorkspace, type Workspace } from "./workspace.js";

/** What a session needs beside its process. */
export interface SessionOptions extends AgentOptions {
  /** The execution's config. */
  readonly config: JsonObject;
  /** An earlier session of the conversation, to go on with. */
  readonly earlier: EarlierSession | undefined;
}

/** A session that an agent had with a conversation before. */
export interface EarlierSession {
  /** The agent's ID of it. */
  readonly id: string;
  /** When it began, in milliseconds since 1970; 0 where that is not known. */
  readonly createTimeMs: number;
}

/** Who hears what the agent says and asks while it works on a prompt. */
export interface PromptListener {
  update(update: Fields): void;
  requestPermission(params: Fields): Promise<RequestPermissionResponse>;
  elicit(params: Fields): Promise<CreateElicitationResponse>;
  dropped(method: string | undefined, sizeBytes: number): void;
  ready(): Promise<void> | undefined;
}

/** A loaded session counts as replayed when the agent has been silent for this long, in milliseconds. */
const QUIET_MS = 250;
const QUIET_LIMIT_MS = 5_000;
const MINUTE_MS = 60_000;
const MINUTE_MARGIN_MS = 500;
/** What an error says that is about a login. */
const SAYS_LOGIN = /auth|log[ -]?in|log(ged)? ?out|sign[ -]?in|credential|api[ _-]?key|\b401\b/i;
const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/** One conversation with one agent process: it takes one prompt at a time. */
export class AgentSession implements AgentHost {
  /** The agent's ID of it. */
  id = "";
  /** When it began, also where it was loaded since, in milliseconds since 1970. */
  createTimeMs = 0;
  /** True where the agent went on with the earlier session. */
  loaded = false;
  private agent: AgentProcess | undefined;
  private listener: PromptListener | undefined;
  private updates = 0;
  private prompts = 0;
  /** The agent's answer that opened it. */
  private modes: Fields = {};
  private readonly terminalCalls: Terminals;

  private constructor(
    private readonly options: SessionOptions,
    private readonly workspace: Workspace,
  ) {
    this.terminalCalls = new Terminals(options.tree, workspace, options.env);
  }

  /** Starts the agent in `options.tree` and opens a session with it: the earlier one where it can load that, else a new one. */
  static async open(options: SessionOptions): Promise<AgentSession> {
    const workspace = await openWorkspace(options.cwd).catch((cause) => {
      throw folderMissing(options.cwd, cause);
    });
    const session = new AgentSession({ ...options, cwd: workspace.root }, workspace);
    session.agent = await AgentProcess.start(session.options, session);
    await session.begin();
    await session.setMode();
    return session;
  }

  get isAlive(): boolean {
    return this.agent?.isAlive === true;
  }

  get process(): AgentProcess {
    if (this.agent === undefined) throw new Error("the agent is not started");
    return this.agent;
  }

  get info(): AgentInfo {
    return this.process.info;
  }

  /** Whether the agent knows nothing of the conversation yet. */
  get isNew(): boolean {
    return !this.loaded && this.prompts === 0;
  }

  /** Sends a prompt and resolves with the agent's answer, which has the reason why it stopped. */
  async prompt(prompt: readonly ContentBlock[], listener: PromptListener): Promise<Fields> {
    if (this.listener !== undefined) throw new Error("the agent is still at work on another prompt");
    this.listener = listener;
    this.prompts++;
    try {
      return await this.process.request(methods.agent.session.prompt, { sessionId: this.id, prompt });
    } catch (error) {
      throw this.explainPrompt(error);
    } finally {
      this.listener = undefined;
    }
  }

  /** Asks the agent to stop its prompt; the prompt's answer comes when it has. */
  cancel(): void {
    this.process.notify(methods.agent.session.cancel, { sessionId: this.id });
  }

  update(params: Fields): void {
    this.updates++;
    // What comes between prompts, such as a replay, belongs to no turn.
    if (params["sessionId"] === this.id) this.listener?.update(fieldsOf(params["update"]));
  }

  async requestPermission(params: Fields): Promise<RequestPermissionResponse> {
    return this.listener?.requestPermission(params) ?? CANCELLED;
  }

  async elicit(params: Fields): Promise<CreateElicitationResponse> {
    return this.listener?.elicit(params) ?? { action: "cancel" };
  }

  async readTextFile(request: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    if (this.options.settings.files !== "read_write") throw RequestError.methodNotFound("fs/read_text_file");
    return readTextFile(this.workspace, request);
  }

  async writeTextFile(request: WriteTextFileRequest): Promise<void> {
    if (this.options.settings.files === "none") throw RequestError.methodNotFound("fs/write_text_file");
    await writeTextFile(this.workspace, request);
  }

  terminals(): Terminals {
    if (!this.options.settings.terminals) throw RequestError.methodNotFound("terminal");
    return this.terminalCalls;
  }

  /** What a terminal of this session has written; undefined where there is none of this ID. */
  terminalText(id: string): string | undefined {
    return this.terminalCalls.text(id);
  }

  dropped(method: string | undefined, sizeBytes: number): void {
    this.listener?.dropped(method, sizeBytes);
  }

  ready(): Promise<void> | undefined {
    return this.listener?.ready();
  }

  private async begin(): Promise<void> {
    const { config, settings, earlier } = this.options;
    const request = { cwd: this.workspace.root, mcpServers: toMcpServers(config, settings.mcp, this.info) };
    if (earlier !== undefined && (await this.reopen(earlier, request))) return;
    const answer = await this.open(methods.agent.session.new, request);
    const id = textOf(answer["sessionId"]);
    if (id === undefined) throw agentError("session_refused", `${settings.label} opened a session without an ID`);
    this.id = id;
    this.createTimeMs = this.options.clock.now();
    this.modes = answer;
  }

  /** Goes on with the earlier session; false where the agent cannot, or has lost it. */
  private async reopen({ id, createTimeMs }: EarlierSession, request: Fields): Promise<boolean> {
    const { reopenMethod } = this.info;
    if (reopenMethod === undefined) return false;
    if (this.options.settings.namesSessionsByMinute) await this.untilNextMinute(createTimeMs);
    try {
      this.modes = await this.open(reopenMethod, { ...request, sessionId: id });
    } catch (error) {
      if (!this.isAlive) throw error;
      this.options.log.warn({ error: String(error) }, "the agent did not load its earlier session");
      return false;
    }
    await this.untilQuiet();
    this.id = id;
    this.createTimeMs = createTimeMs;
    this.loaded = true;
    return true;
  }

  private async untilNextMinute(createTimeMs: number): Promise<void> {
    const { clock } = this.options;
    const nextMs = (Math.floor(createTimeMs / MINUTE_MS) + 1) * MINUTE_MS;
    const waitMs = nextMs - clock.now();
    if (waitMs > 0) await new Promise<void>((resolve) => clock.after(waitMs + MINUTE_MARGIN_MS, resolve));
  }

  /** Sends a request that opens a session, and logs in first where the agent wants that and it is known how. */
  private async open(method: string, params: Fields): Promise<Fields> {
    const { settings, env } = this.options;
    const login = loginMethod(settings, env, this.info.authMethods);
    try {
      return await this.requestInTime(method, params);
    } catch (error) {
      if (answeredError(error)?.code !== AUTH_REQUIRED || login === "") throw this.explain(error);
    }
    await this.logIn(login);
    try {
      return await this.requestInTime(method, params);
    } catch (error) {
      throw this.explain(error, login);
    }
  }

  private async logIn(methodId: string): Promise<void> {
    try {
      await this.requestInTime(methods.agent.authenticate, { methodId });
    } catch (error) {
      throw answeredError(error) === undefined ? error : this.explainLogin(error, methodId);
    }
  }

  private requestInTime(method: string, params: Fields): Promise<Fields> {
    const { settings, clock } = this.options;
    const { sessionMs } = settings.limits;
    return withLimit(this.process.request(method, params), sessionMs, clock, () =>
      agentError(
        "session_timeout",
        `${settings.label} did not answer \`${method}\` within ${sessionMs} ms: try the agent by itself, or raise limits.session_ms`,
        this.process.lastWords(),
      ),
    );
  }

  /** Some agents answer before they replay: waits until they have been silent for a while. */
  private async untilQuiet(): Promise<void> {
    const { clock } = this.options;
    const deadline = clock.now() + QUIET_LIMIT_MS;
    let before = -1;
    while (before !== this.updates && clock.now() < deadline) {
      before = this.updates;
      await new Promise<void>((resolve) => clock.after(QUIET_MS, resolve));
    }
  }

  private async setMode(): Promise<void> {
    const { config, settings } = this.options;
    const modeId = textOf(config["mode"]) ?? settings.mode;
    if (modeId === "") return;
    try {
      await this.requestInTime(methods.agent.session.setMode, { sessionId: this.id, modeId });
    } catch (error) {
      const offered = listOf(fieldsOf(this.modes["modes"])["availableModes"]).flatMap(({ id }) => textOf(id) ?? []);
      const known = offered.length === 0 ? "it offers none" : `it offers ${offered.join(", ")}`;
      const said = this.process.redact(answeredError(error)?.message ?? String(error));
      const message = `${settings.label} did not take the mode ${JSON.stringify(modeId)} (${said}): ${known}`;
      throw agentError("session_refused", message, "", error);
    }
  }

  /** Says what an agent's own error means and what to do about it. */
  private explain(error: unknown, login = ""): unknown {
    const answer = answeredError(error);
    if (answer === undefined) return error;
    if (answer.code === AUTH_REQUIRED) return this.explainLogin(error, login);
    const { label } = this.options.settings;
    const message = this.process.redact(answer.message);
    return agentError("agent_error", `${label} reported an error: ${message}`, this.process.lastWords(), error);
  }

  /** A session that was opened needed no login then: agents use the code for one for other errors as well. */
  private explainPrompt(error: unknown): unknown {
    const answer = answeredError(error);
    if (answer?.code !== AUTH_REQUIRED || SAYS_LOGIN.test(answer.message)) return this.explain(error);
    const { label, login } = this.options.settings;
    const said = `${label} reported an error: ${this.process.redact(answer.message)}`;
    const message = `${said}. Its code, ${AUTH_REQUIRED}, may mean that it needs a login (${login}), or any other failure`;
    return agentError("agent_error", message, this.process.lastWords(), error);
  }

  private explainLogin(error: unknown, tried: string): unknown {
    const said = this.process.redact(answeredError(error)?.message ?? "");
    return loginRequired(this.options.settings, { offered: this.info.authMethods, tried, said }, error);
  }
}
