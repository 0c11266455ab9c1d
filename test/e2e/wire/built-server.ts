import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const ROOT = resolve(import.meta.dirname, "../../..");

/** `harness serve` in a process of its own, on a data folder that outlives it. */
export interface BuiltServer {
  readonly port: number;
  readonly url: string;
  /** Ends it as a crash would, and starts it again on the same port and data. */
  crash(): Promise<void>;
  /** Ends it as an operator would, and starts it again on the same port and data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the server that `npm run build` made, with further flags. */
export async function startBuiltServer(...flags: readonly string[]): Promise<BuiltServer> {
  const data = mkdtempSync(join(tmpdir(), "harness-built-"));
  let running = await launch(data, 0, flags);
  const { port } = running;
  const again = async (signal: NodeJS.Signals): Promise<void> => {
    await stop(running.child, signal);
    running = await launch(data, port, flags);
  };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    crash: () => again("SIGKILL"),
    restart: () => again("SIGTERM"),
    async close() {
      await stop(running.child, "SIGKILL");
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function launch(data: string, port: number, flags: readonly string[]) {
  const args = [join(ROOT, "bin/harness.mjs"), "serve", "--port", String(port), "--data", data, ...flags];
  const child = spawn(process.execPath, args, { cwd: data, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /serves http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (found === undefined) continue;
    child.stdout.resume();
    return { child, port: Number(found) };
  }
  throw new Error(`harness serve ended with ${child.exitCode ?? child.signalCode} before it served`);
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
