import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const loader = new URL("../../scripts/source.mjs", import.meta.url).href;

/** Variables for a process that runs sources: what it compiled once is not compiled again, which halves its start. */
export const SOURCE_ENV: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../../node_modules/.cache/compiled-sources", import.meta.url)),
};

/** The arguments for Node to run a TypeScript file of this project. */
export function sourceArgs(file: URL, ...args: string[]): string[] {
  return ["--no-warnings", "--experimental-transform-types", "--import", loader, fileURLToPath(file), ...args];
}

/** Runs a TypeScript file of this project in a process of its own. */
export function runSource(file: URL, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  return spawn(process.execPath, sourceArgs(file, ...args), {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...SOURCE_ENV },
    ...options,
  });
}

/** Resolves with the first line of a child's standard output; rejects when it ends without one. */
export async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the child has no standard output");
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error(`the child ended with ${child.exitCode ?? child.signalCode} and no output`);
}
