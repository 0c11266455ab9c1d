import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { McpCommand } from "../../engine/ai/mcp-tools.js";
import { findCommand } from "../containment/command.js";
import { type ContainmentResult, toCleanup } from "../containment/report.js";
import type { ContainedProcess, ProcessTree } from "../containment/tree.js";

/** How long a server's last output is waited for after it has ended: what it started may hold it open. */
const DRAIN_MS = 200;

/**
 * A connection to an MCP server that runs in a process tree of its own: all that
 * the server started ends with the connection, and when this process is killed.
 * Does what the SDK's own transport does in any other respect.
 */
export class McpProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #tree: ProcessTree;
  readonly #server: McpCommand;
  readonly #input = new ReadBuffer();
  #process: ContainedProcess | undefined;
  #ended: Promise<ContainmentResult> | undefined;

  /** `tree` is the connection's alone: it ends it. */
  constructor(tree: ProcessTree, server: McpCommand) {
    this.#tree = tree;
    this.#server = server;
  }

  async start(): Promise<void> {
    const { command, args = [], cwd = process.cwd() } = this.#server;
    const env = { ...getDefaultEnvironment(), ...this.#server.env };
    const program = findCommand(command, env["PATH"] ?? "", cwd);
    if (program === undefined) {
      throw new Error(`there is no program ${command} that may be executed; install it, or set command to its path`);
    }
    const started = await this.#tree.spawn({ command: program, args, cwd, env });
    this.#process = started;
    started.stderr.resume();
    started.stdin.on("error", (error) => this.onerror?.(error));
    started.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    const drained = new Promise((resolve) => started.stdout.once("close", resolve));
    void started.exited.then(async () => {
      await Promise.race([drained, new Promise((resolve) => setTimeout(resolve, DRAIN_MS))]);
      await this.close();
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#process?.stdin;
    if (stdin === undefined || stdin.writableEnded || stdin.destroyed) throw new Error("the MCP server has ended");
    if (stdin.write(serializeMessage(message))) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        for (const event of ["drain", "close"]) stdin.off(event, done);
        resolve();
      };
      for (const event of ["drain", "close"]) stdin.on(event, done);
    });
  }

  /** Ends the server and all that it started. Never rejects: see {@link McpProcess.leftover}. */
  async close(): Promise<void> {
    const isFirst = this.#ended === undefined;
    this.#ended ??= this.#tree.end();
    await this.#ended;
    if (isFirst) this.onclose?.();
  }

  /** What is still there after {@link McpProcess.close}, in words; undefined where nothing is. */
  async leftover(): Promise<string | undefined> {
    const report = await this.#ended;
    if (report === undefined || (report.escaped.length === 0 && report.error === undefined)) return undefined;
    return `the MCP server ${this.#server.command}: ${toCleanup(report)?.error}`;
  }

  #take(chunk: Buffer): void {
    try {
      this.#input.append(chunk);
    } catch (error) {
      this.#fail(error);
      void this.close();
      return;
    }
    for (let more = true; more; ) more = this.#deliver();
  }

  /** Hands the next message over; false where there is none yet. A line that is none is an error and is passed by. */
  #deliver(): boolean {
    try {
      const message = this.#input.readMessage();
      if (message === null) return false;
      this.onmessage?.(message);
    } catch (error) {
      this.#fail(error);
    }
    return true;
  }

  #fail(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }
}
