import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildIfStale } from "../../../scripts/build.mjs";

export const ROOT = join(import.meta.dirname, "../../..");
const PROGRAM = join(ROOT, "dist/src/cli/main.js");

/** How a process ended, and what it wrote. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process that runs. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with the first match in what it wrote to either stream, now or later; rejects when it ends without. */
  saw(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface ProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
}

/** Builds the program, once for all that runs it. */
export function build(): void {
  buildIfStale(ROOT);
}

/** Starts the program `harness`, away from a terminal. */
export function start(args: readonly string[], options: ProcessOptions = {}): Running {
  return startCommand(process.execPath, [PROGRAM, ...args], options);
}

/** Runs the program `harness` to its end. */
export async function harness(args: readonly string[], options: ProcessOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}

/** Starts any command. */
export function startCommand(command: string, args: readonly string[], options: ProcessOptions = {}): Running {
  // Node takes a build machine for one without colours.
  const { CI: _, FORCE_COLOR: __, NO_COLOR: ___, HARNESS_URL: ____, ...inherited } = process.env;
  const child = spawn(command, args, {
    cwd: options.cwd ?? ROOT,
    env: { ...inherited, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  if (options.input !== undefined) child.stdin.end(options.input);
  const written = { stdout: "", stderr: "" };
  const looks = new Set<() => void>();
  for (const target of ["stdout", "stderr"] as const) {
    child[target].setEncoding("utf8").on("data", (text: string) => {
      written[target] += text;
      for (const look of looks) look();
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...written }));
  });
  const saw = (pattern: RegExp): Promise<RegExpExecArray> => {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const look = (): void => {
      const match = pattern.exec(written.stdout) ?? pattern.exec(written.stderr);
      if (match !== null) resolve(match);
    };
    looks.add(look);
    look();
    void ended.then(() => reject(new Error(`${pattern} was never seen in ${JSON.stringify(written)}`)));
    return promise.finally(() => looks.delete(look));
  };
  return { child, ended, saw };
}

/** A runtime in a process of its own, with a folder of its own. */
export interface Served {
  readonly url: string;
  readonly data: string;
  readonly running: Running;
  /** Ends it as an operator does. */
  stop(): Promise<Ended>;
}

/** Starts `harness serve` on a free port; the folder is removed when it is stopped, unless it was named. */
export async function serve(
  args: readonly string[] = [],
  data?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const folder = data ?? mkdtempSync(join(tmpdir(), "harness-cli-"));
  const options = ["--port", "0", "--data", folder, "--set", "server.drain_grace=100ms"];
  const running = start(["serve", ...options, ...args], { cwd: tmpdir(), env });
  const [, url = ""] = await running.saw(/serves (\S+)/);
  return {
    url,
    data: folder,
    running,
    async stop() {
      running.child.kill("SIGTERM");
      const ended = await running.ended;
      if (data === undefined) rmSync(folder, { recursive: true, force: true });
      return ended;
    },
  };
}
