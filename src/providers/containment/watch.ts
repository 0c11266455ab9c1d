import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Log } from "../../core/provider.js";
import type { ProcessIdentity } from "./sweep.js";
import type { WatchedTree } from "./watchdog.js";

/** A watchdog that keeps dying cannot run here; the sweep at the next start is then what is left. */
const MOST_RESTARTS = 5;

/** Holds a watchdog process, which ends marked processes when this one dies without doing so. */
export interface Watch {
  /** Has it end what carries `mark` or descends from `roots`; said again, the later roots count. */
  add(mark: string, roots: readonly ProcessIdentity[]): void;
  remove(mark: string): void;
  /** Lets the watchdog go, and waits until it is gone; what it still had to watch, it ends. */
  close(): Promise<void>;
}

/**
 * Starts the watchdog with the first mark, and again should it die. It runs in
 * a session of its own, so that neither Ctrl-C nor a signal to the runtime's
 * group reaches it, and it keeps the runtime from nothing.
 */
export function createWatch(log: Log): Watch {
  const trees = new Map<string, string>();
  let child: ChildProcess | undefined;
  let closed = false;
  let restarts = 0;

  const start = (): void => {
    const started = spawnWatchdog();
    child = started;
    started.once("exit", (code, signal) => {
      child = undefined;
      if (closed || trees.size === 0) return;
      log.warn({ code, signal }, "the watchdog of the process trees ended");
      if (restarts++ < MOST_RESTARTS) start();
    });
    started.once("error", (error) => log.error({ error: error.message }, "the watchdog did not start"));
    started.stdin?.on("error", () => {});
    for (const line of trees.values()) started.stdin?.write(line);
  };

  return {
    add(mark, roots) {
      const line = `${JSON.stringify({ mark, roots } satisfies WatchedTree)}\n`;
      trees.set(mark, line);
      if (child === undefined) start();
      else child.stdin?.write(line);
    },
    remove(mark) {
      trees.delete(mark);
      child?.stdin?.write(`${JSON.stringify({ mark } satisfies WatchedTree)}\n`);
    },
    async close() {
      closed = true;
      const last = child;
      if (last === undefined || last.exitCode !== null || last.signalCode !== null) return;
      const gone = new Promise((resolve) => last.once("exit", resolve));
      last.ref();
      last.stdin?.end();
      await gone;
    },
  };
}

function spawnWatchdog(): ChildProcess {
  const child = spawn(process.execPath, [watchdogFile()], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: "/",
    env: {},
  });
  child.unref();
  // The pipe alone would keep an idle runtime alive.
  if (child.stdin !== null && "unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return child;
}

/** What was built lies beside this file as .js; from the sources Node runs the .ts itself. */
function watchdogFile(): string {
  const built = fileURLToPath(new URL("./watchdog.js", import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL("./watchdog.ts", import.meta.url));
}
