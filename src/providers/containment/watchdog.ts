import { extname } from "node:path";
import { createInterface } from "node:readline";

/**
 * The program of a small process beside the runtime: it is told the mark of
 * each process tree, one `+MARK` or `-MARK` a line, and ends those that are
 * left when its standard input ends, which it does however the runtime died.
 */
const marks = new Set<string>();
/** Between SIGTERM and SIGKILL, and for the killing: nobody waits for the result. */
const LIMITS = { termGraceMs: 500, killLimitMs: 10_000 };

for await (const line of createInterface({ input: process.stdin })) {
  if (line.startsWith("+")) marks.add(line.slice(1));
  else marks.delete(line.slice(1));
}

// Beside this file: .ts where Node runs the sources, .js where it runs what was built of them.
const extension = extname(import.meta.url);
const load = (name: string): Promise<unknown> => import(new URL(`${name}${extension}`, import.meta.url).href);
const { endMembers } = (await load("sweep")) as typeof import("./sweep.js");
const { listProcesses } = (await load("processes")) as typeof import("./processes.js");
/**
 * A process that is just becoming another program has no environment to read, and
 * so no mark, for a moment. Nobody waits for this program: it looks again, and again.
 */
const LOOKS = 5;
const BETWEEN_LOOKS_MS = 300;
const trees = [...marks].map((mark) => ({ mark, known: new Map<number, string>() }));
for (let look = 0; look < LOOKS; look++) {
  if (look > 0) await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));
  await Promise.all(trees.map((tree) => endMembers(tree, LIMITS, listProcesses)));
}
