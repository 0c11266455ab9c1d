import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

// This file is also loaded by the watchdog's own process: it imports nothing of the project.

/** A process of this machine at the moment of a scan. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it started, in the system's own form: with the PID it names a process for good. */
  readonly startTime: string;
  readonly name: string;
  /** The marks in the environment that it was started with; none where that cannot be read. */
  readonly marks: readonly string[];
}

/** The environment variable that carries a mark is this and the mark; several runtimes, one inside the other, do not hide one another's. */
export const MARK_VARIABLE = "HARNESS_MARK_";
const MARK = /(?:^|\0)HARNESS_MARK_([0-9a-f]{32})=/g;
/** PF_KTHREAD among a process's flags. */
const KERNEL_THREAD = 0x00200000;
const EMPTY_LOOKS = 3;
const EMPTY_PAUSE_MS = 2;
/** How many processes are read at a time. */
const READERS = 16;

/** Whether this system tells the environment of a process, so that marks can be found. */
export const canReadMarks = process.platform === "linux";

/** Lists the living processes: from /proc where there is one, else from `ps`, then without sessions and marks. */
export async function listProcesses(): Promise<ProcessEntry[]> {
  return canReadMarks ? listFromProc() : listFromPs();
}

async function listFromProc(): Promise<ProcessEntry[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const entries: ProcessEntry[] = [];
  const readNext = async (): Promise<void> => {
    for (let pid = pids.pop(); pid !== undefined; pid = pids.pop()) {
      const entry = await readProcess(Number(pid));
      if (entry !== undefined) entries.push(entry);
    }
  };
  await Promise.all(Array.from({ length: READERS }, readNext));
  return entries;
}

/** Reads one process from /proc; undefined where it is gone or only waits to be reaped. */
export async function readProcess(pid: number): Promise<ProcessEntry | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
  if (stat === undefined) return undefined;
  const nameEnd = stat.lastIndexOf(")");
  const fields = stat.slice(nameEnd + 2).split(" ");
  const [state = "", parent, group, session, , , flags] = fields;
  if (state === "Z" || state === "X") return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime: fields[19] ?? "",
    name: stat.slice(stat.indexOf("(") + 1, nameEnd),
    // The kernel's own threads have no environment.
    marks: (Number(flags) & KERNEL_THREAD) === 0 ? await readMarks(pid) : [],
  };
}

/**
 * A process that is just becoming another program has no environment to read for
 * a moment: one that is empty is read again.
 */
async function readMarks(pid: number): Promise<string[]> {
  for (let look = 0; look < EMPTY_LOOKS; look++) {
    if (look > 0) await new Promise((resolve) => setTimeout(resolve, EMPTY_PAUSE_MS));
    const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => undefined);
    if (environment === "") continue;
    return Array.from((environment ?? "").matchAll(MARK), (match) => match[1] ?? "");
  }
  return [];
}

async function listFromPs(): Promise<ProcessEntry[]> {
  const columns = ["pid", "ppid", "pgid", "stat", "lstart", "comm"].flatMap((column) => ["-o", `${column}=`]);
  const { stdout } = await promisify(execFile)("ps", ["-A", ...columns], { maxBuffer: 64 * 1024 * 1024 });
  return stdout.split("\n").flatMap((line) => parsePsLine(line) ?? []);
}

/** `  PID PPID PGID STAT Sat Nov 29 18:11:00 2025 COMMAND`; a zombie and a line of another form give undefined. */
export function parsePsLine(line: string): ProcessEntry | undefined {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(line);
  if (match === null) return undefined;
  const [, pid, parent, group, state = "", startTime = "", name = ""] = match;
  if (state.startsWith("Z")) return undefined;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    session: Number(group),
    startTime,
    name,
    marks: [],
  };
}
