import { extname } from "node:path";
import { createInterface } from "node:readline";
import type { Root } from "./tree.js";

/** A line of the watchdog's standard input, as JSON. Without roots the tree has ended. */
export interface WatchedTree {
  readonly mark: string;
  readonly roots?: readonly Root[];
}

/**
 * The program of a small process beside the runtime: it is told of each process
 * tree, and ends those that are left when its standard input ends, which it
 * does however the runtime died.
 */
const trees = new Map<string, readonly Root[]>();
/** Between SIGTERM and SIGKILL, and for the killing: nobody waits for the result. */
const LIMITS = { termGraceMs: 500, killLimitMs: 10_000 };

for await (const line of createInterface({ input: process.stdin })) {
  const { mark, roots } = JSON.parse(line) as WatchedTree;
  if (roots === undefined) trees.delete(mark);
  else trees.set(mark, roots);
}

// Beside this file: .ts where Node runs the sources, .js where it runs what was built of them.
const extension = extname(import.meta.url);
const load = (name: string): Promise<unknown> => import(new URL(`${name}${extension}`, import.meta.url).href);
const { endMembers, treeMembers } = (await load("sweep")) as typeof import("./sweep.js");
const { listProcesses } = (await load("processes")) as typeof import("./processes.js");
/**
 * A process that is just becoming another program has no environment to read, and
 * so no mark, for a moment. Nobody waits for this program: it looks again, and
 * again, also where the system would not let it look.
 */
const LOOKS = 5;
const MOST_TRIES = 200;
const BETWEEN_LOOKS_MS = 300;
const left = [...trees].map(([mark, roots]) => {
  // What ran when the runtime died had its PID until now.
  const running = roots.filter((root) => root.running).map(({ pid }) => pid);
  return treeMembers(mark, roots, new Set(running));
});
for (let looks = 0, tries = 0; looks < LOOKS && tries < MOST_TRIES; tries++) {
  if (tries > 0) await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));
  const ended = await Promise.allSettled(left.map((tree) => endMembers(tree, LIMITS, listProcesses)));
  if (ended.every(({ status }) => status === "fulfilled")) looks++;
}
