import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Log } from "../../core/provider.js";
import type { Root } from "./tree.js";
import type { WatchedTree } from "./watchdog.js";

/**
 * How long after its end a watchdog is started again: doubled each time, up to
 * the second, and anew from the first when one has run for the third. Meanwhile
 * the sweep at the next start is what is left.
 */
const FIRST_RESTART_MS = 50;
const LONGEST_RESTART_MS = 60_000;
const STEADY_MS = 60_000;

/** Holds a watchdog process, which ends marked processes when this one dies without doing so. */
export interface Watch {
  /** Has it end what carries `mark` or descends from `roots`; said again, the later roots count. */
  add(mark: string, roots: readonly Root[]): void;
  remove(mark: string): void;
  /** Lets the watchdog go, and waits until it is gone; what it still had to watch, it ends. */
  close(): Promise<void>;
}

/**
 * Starts the watchdog with the first mark, and again should it die or not
 * start. It runs in a session of its own, so that neither Ctrl-C nor a signal to
 * the runtime's group reaches it, and it keeps the runtime from nothing.
 * `program` runs it; default: what runs this process.
 */
export function createWatch(log: Log, program = process.execPath): Watch {
  const trees = new Map<string, string>();
  let child: ChildProcess | undefined;
  let restart: NodeJS.Timeout | undefined;
  let restartMs = FIRST_RESTART_MS;
  let closed = false;

  const start = (): void => {
    restart = undefined;
    const startedMs = performance.now();
    let started: ChildProcess | undefined;
    const onLoss = (how: object): void => {
      if (child !== started) return;
      child = undefined;
      if (closed || trees.size === 0) return;
      if (performance.now() - startedMs > STEADY_MS) restartMs = FIRST_RESTART_MS;
      log.warn({ ...how, restartMs }, "the watchdog of the process trees is not there");
      restart = setTimeout(start, restartMs).unref();
      restartMs = Math.min(2 * restartMs, LONGEST_RESTART_MS);
    };
    try {
      started = spawnWatchdog(program);
    } catch (error) {
      onLoss({ error: String(error) });
      return;
    }
    child = started;
    started.once("exit", (code, signal) => onLoss({ code, signal }));
    // A program that cannot be started has no exit.
    started.on("error", ({ message }) => onLoss({ error: message }));
    started.stdin?.on("error", () => {});
    for (const line of trees.values()) started.stdin?.write(line);
  };

  return {
    add(mark, roots) {
      const line = `${JSON.stringify({ mark, roots } satisfies WatchedTree)}\n`;
      trees.set(mark, line);
      if (child !== undefined) child.stdin?.write(line);
      else if (restart === undefined) start();
    },
    remove(mark) {
      trees.delete(mark);
      child?.stdin?.write(`${JSON.stringify({ mark } satisfies WatchedTree)}\n`);
    },
    async close() {
      closed = true;
      clearTimeout(restart);
      const last = child;
      if (last === undefined || last.exitCode !== null || last.signalCode !== null) return;
      const gone = new Promise((resolve) => last.once("exit", resolve));
      last.ref();
      last.stdin?.end();
      await gone;
    },
  };
}

function spawnWatchdog(program: string): ChildProcess {
  const child = spawn(program, [watchdogFile()], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: "/",
    env: {},
  });
  child.unref();
  // The pipe alone would keep an idle runtime alive.
  const { stdin } = child;
  if (stdin && "unref" in stdin && typeof stdin.unref === "function") stdin.unref();
  return child;
}

/** What was built lies beside this file as .js; from the sources Node runs the .ts itself. */
function watchdogFile(): string {
  const built = fileURLToPath(new URL("./watchdog.js", import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL("./watchdog.ts", import.meta.url));
}
