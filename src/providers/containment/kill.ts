import { listProcesses } from "./processes.js";

/** Kills (−9) every marked process that this one started, as a fault does: nothing is told, nothing is tidied up. */
export async function killStarted(): Promise<void> {
  const processes = await listProcesses();
  const started = new Set([process.pid]);
  for (let grown = true; grown; ) {
    const found = processes.filter(({ pid, parent }) => started.has(parent) && !started.has(pid));
    for (const { pid } of found) started.add(pid);
    grown = found.length > 0;
  }
  for (const { pid, marks } of processes) {
    if (!started.has(pid) || marks.length === 0 || pid === process.pid) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended with another one.
    }
  }
}
