import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A program that answers each line of JSON with one, in order. */
export interface Worker {
  ask(question: unknown): Promise<unknown>;
  close(): void;
}

/** Starts the program; what it says on standard error is this process's. */
export function startWorker(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Worker {
  const child: ChildProcessWithoutNullStreams = spawn(program, args, { env: { ...process.env, ...env } });
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(question) {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${program} ended (${child.exitCode ?? child.signalCode}) without an answer`);
      return JSON.parse(value);
    },
    close() {
      child.stdin.end();
    },
  };
}

/** The program in Go that .ci/steps builds, and the Python with the client installed. */
export const GO_WIRE = process.env["HARNESS_TEST_GO_WIRE"] ?? "";
export const PYTHON = process.env["HARNESS_TEST_PYTHON"] ?? "";
