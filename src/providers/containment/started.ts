import { listProcesses, type ProcessEntry } from "./processes.js";

/** Kills (−9) every marked process that this one started, as a fault does: nothing is told, nothing is tidied up. */
export async function killStarted(): Promise<void> {
  for (const { pid } of await listStarted()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended with another one.
    }
  }
}

/** The marks of all that this process started and that is still below it. */
export async function startedMarks(): Promise<ReadonlySet<string>> {
  return new Set((await listStarted()).flatMap(({ marks }) => marks));
}

/** The living processes, whoever their parents are, that carry one of these marks: one description each. */
export async function listCarrying(marks: ReadonlySet<string>): Promise<readonly string[]> {
  const processes = await listProcesses();
  return processes
    .filter((entry) => entry.marks.some((mark) => marks.has(mark)))
    .map(({ name, pid }) => `${name} (PID ${pid})`);
}

async function listStarted(): Promise<ProcessEntry[]> {
  const processes = await listProcesses();
  const started = new Set([process.pid]);
  for (let grown = true; grown; ) {
    const found = processes.filter(({ pid, parent }) => started.has(parent) && !started.has(pid));
    for (const { pid } of found) started.add(pid);
    grown = found.length > 0;
  }
  return processes.filter(({ pid, marks }) => started.has(pid) && marks.length > 0 && pid !== process.pid);
}
