import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { PYTHON } from "../../wire/worker.js";

const EXAMPLES = resolve(import.meta.dirname, "../../../examples");

/** A provider's program, by its language: what it is called there, and how its turns are told apart. */
export interface ProviderProgram {
  readonly language: string;
  readonly providerId: string;
  /** The config's `way` in which it asks before it uses its tool. */
  readonly toolWay: string;
  readonly command: string;
  readonly args: readonly string[];
  /** How the program takes a runtime's address. */
  address(port: number): string;
}

export const PROGRAMS: readonly ProviderProgram[] = [
  {
    language: "Python",
    providerId: "python-agent",
    toolWay: "agent",
    command: PYTHON,
    args: [`${EXAMPLES}/python-provider/main.py`],
    address: (port) => `127.0.0.1:${port}`,
  },
  {
    language: "Go",
    providerId: "go-agent",
    toolWay: "tool",
    command: process.env["HARNESS_TEST_GO_PROVIDER"] ?? "",
    args: [],
    address: (port) => `http://127.0.0.1:${port}`,
  },
];

/** A provider's program that runs. */
export class ProviderProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor({ command, args, address }: ProviderProgram, port: number) {
    this.#child = spawn(command, [...args, address(port)], { stdio: ["ignore", "inherit", "inherit"] });
    this.#exited = once(this.#child, "exit");
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends it as an operator would; resolves with its exit code once it has let go of its work. */
  async stop(): Promise<number | null> {
    await this.#end("SIGTERM");
    return this.#child.exitCode;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    await this.#exited;
  }
}
