import {
  type CreateTerminalRequest,
  RequestError,
  type TerminalExitStatus,
  type TerminalOutputResponse,
} from "@agentclientprotocol/sdk";
import { findCommand } from "../containment/command.js";
import type { ContainedProcess, ProcessTree } from "../containment/tree.js";
import type { Workspace } from "./workspace.js";

const MOST_TERMINALS = 32;
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** How long a terminal's output is waited for after its command has ended: what it started may hold it open. */
const DRAIN_MS = 100;

interface Terminal {
  readonly process: ContainedProcess;
  readonly output: TerminalOutput;
  readonly ended: Promise<TerminalExitStatus>;
  exit: TerminalExitStatus | undefined;
}

/** Serves the protocol's `terminal/*` calls with commands in the agent's own process tree. */
export class Terminals {
  private readonly terminals = new Map<string, Terminal>();
  private count = 0;

  constructor(
    private readonly tree: ProcessTree,
    private readonly workspace: Workspace,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  async create(request: CreateTerminalRequest): Promise<string> {
    if (this.terminals.size >= MOST_TERMINALS) {
      throw RequestError.invalidRequest(undefined, `${MOST_TERMINALS} terminals are open: release one first`);
    }
    const cwd = await this.workspace.resolve(request.cwd ?? this.workspace.root);
    const env = { ...this.env, ...Object.fromEntries((request.env ?? []).map(({ name, value }) => [name, value])) };
    const process = await this.tree.spawn({ ...commandOf(request, env, cwd), cwd, env });
    const output = new TerminalOutput(Math.min(request.outputByteLimit ?? MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES));
    const id = `terminal-${++this.count}`;
    const terminal: Terminal = { process, output, exit: undefined, ended: output.collect(process) };
    void terminal.ended.then((exit) => {
      terminal.exit = exit;
    });
    process.stdin.end();
    this.terminals.set(id, terminal);
    return id;
  }

  output(id: string): TerminalOutputResponse {
    const { output, exit } = this.find(id);
    return { ...output.read(), ...(exit === undefined ? {} : { exitStatus: exit }) };
  }

  /** The text so far; undefined where there is no such terminal, as agents also name their own. */
  text(id: string): string | undefined {
    return this.terminals.get(id)?.output.read().output;
  }

  async waitForExit(id: string): Promise<TerminalExitStatus> {
    return this.find(id).ended;
  }

  /** Ends the command and what it started; its output can still be read. */
  async kill(id: string): Promise<void> {
    await this.find(id).process.end({ termGraceMs: 500 });
  }

  async release(id: string): Promise<void> {
    await this.kill(id);
    this.terminals.delete(id);
  }

  private find(id: string): Terminal {
    const terminal = this.terminals.get(id);
    if (terminal === undefined) throw RequestError.invalidParams({ terminalId: id }, `no terminal has the ID ${id}`);
    return terminal;
  }
}

/** A command with no arguments that is no program is a line for the shell: some agents send one. */
function commandOf(request: CreateTerminalRequest, env: Readonly<Record<string, string>>, cwd: string) {
  const args = request.args ?? [];
  const command = findCommand(request.command, env["PATH"] ?? "", cwd);
  if (command !== undefined) return { command, args };
  if (args.length > 0) throw RequestError.invalidParams({ command: request.command }, "no such program");
  return { command: "/bin/sh", args: ["-c", request.command] };
}

/** The last of a command's output, both streams as they came. */
class TerminalOutput {
  private bytes: Buffer = Buffer.alloc(0);
  private truncated = false;

  constructor(private readonly limitBytes: number) {}

  async collect(process: ContainedProcess): Promise<TerminalExitStatus> {
    const streams = [process.stdout, process.stderr].map(async (stream) => {
      for await (const chunk of stream) this.add(chunk as Buffer);
    });
    // A stream that breaks off ends the output, also while the command runs.
    const drained = Promise.allSettled(streams);
    const { code, signal } = await process.exited;
    await Promise.race([drained, new Promise((resolve) => setTimeout(resolve, DRAIN_MS))]);
    return { exitCode: code ?? null, signal: signal ?? null };
  }

  read(): { output: string; truncated: boolean } {
    return { output: this.bytes.toString("utf8"), truncated: this.truncated };
  }

  private add(chunk: Buffer): void {
    const all = Buffer.concat([this.bytes, chunk]);
    let start = Math.max(all.length - this.limitBytes, 0);
    if (start > 0) this.truncated = true;
    // The protocol asks for a whole character at the beginning.
    while (start > 0 && start < all.length && ((all[start] ?? 0) & 0xc0) === 0x80) start++;
    this.bytes = all.subarray(start);
  }
}
