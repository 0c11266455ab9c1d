import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { constants } from "node:os";
import type { NamespaceWrapper } from "./namespace.js";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment, but for the marks: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
}

export interface ExitStatus {
  /** Unset where a signal ended it. */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
}

/** A program that runs. */
export interface StartedProcess {
  readonly pid: number;
  readonly stdin: ChildProcessWithoutNullStreams["stdin"];
  readonly stdout: ChildProcessWithoutNullStreams["stdout"];
  readonly stderr: ChildProcessWithoutNullStreams["stderr"];
  /** Resolves when the program itself has ended; what it started may live on. */
  readonly exited: Promise<ExitStatus>;
}

/** Spawns in a new session; resolves once the program runs. */
export async function spawnDetached(
  { command, args, cwd, env }: Command,
  wrapper: NamespaceWrapper = [],
): Promise<StartedProcess> {
  const [file = command, ...rest] = [...wrapper, command, ...args];
  const child = spawn(file, rest, { cwd, env, detached: true, stdio: "pipe" });
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once("exit", (code, signal) => resolve(toExitStatus(code, signal, wrapper.length > 0)));
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  // Later errors, such as a write to a program that has ended, show in `exited`.
  for (const emitter of [child, child.stdin, child.stdout, child.stderr]) emitter.on("error", () => {});
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined) throw new Error(`${command} has no process ID`);
  return { pid, stdin, stdout, stderr, exited };
}

function toExitStatus(code: number | null, signal: NodeJS.Signals | null, isWrapped: boolean): ExitStatus {
  const signals = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  const told = isWrapped ? signals.find(([, number]) => code === 128 + number)?.[0] : undefined;
  if (told !== undefined) return { code: undefined, signal: told };
  return { code: code ?? undefined, signal: signal ?? undefined };
}
