import { readdir, readFile } from "node:fs/promises";

/** Returns the living processes whose command line or environment has `text`, but this one: PIDs as strings. */
export async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const read = (pid: string, file: string): Promise<string> =>
    readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "");
  const found = await Promise.all(
    pids.map(async (pid) => {
      const isZombie = /\) [ZX] /.test(await read(pid, "stat"));
      return !isZombie && `${await read(pid, "cmdline")}${await read(pid, "environ")}`.includes(text);
    }),
  );
  return pids.filter((_, index) => found[index]);
}

/** Looks until `holds` does; throws with `what` after `limitMs`. */
export async function until(what: string, holds: () => Promise<boolean> | boolean, limitMs = 30_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
