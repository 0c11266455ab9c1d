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
/** What says that a process is gone. */
const GONE: ReadonlySet<unknown> = new Set(["ENOENT", "ESRCH"]);
/** What says that a process is another user's, and so none of ours. */
const FOREIGN: ReadonlySet<unknown> = new Set(["EACCES", "EPERM"]);
/** How long each next try waits where the system could not read: 0.6 s in all. */
const RETRY_PAUSES_MS: readonly number[] = [10, 40, 150, 400];

/** Whether this system tells the environment of a process, so that marks can be found. */
export const canReadMarks = process.platform === "linux";

/**
 * Lists the living processes: from /proc where there is one, else from `ps`, then without sessions and marks.
 * Rejects where the system could not tell, as with no file descriptor left: that nothing was found says nothing then.
 */
export async function listProcesses(): Promise<ProcessEntry[]> {
  return canReadMarks ? listFromProc() : listFromPs();
}

async function listFromProc(): Promise<ProcessEntry[]> {
  const pids = (await patiently(() => readdir("/proc"))).filter((name) => /^\d+$/.test(name));
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

/** Reads one process from /proc; undefined where it is gone, only waits to be reaped, or is another user's secret. */
export async function readProcess(pid: number): Promise<ProcessEntry | undefined> {
  const stat = await readOf(pid, "stat");
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
    const environment = await readOf(pid, "environ");
    if (environment === "") continue;
    return Array.from((environment ?? "").matchAll(MARK), (match) => match[1] ?? "");
  }
  return [];
}

/** Reads a file of a process; undefined where the process is gone or another user's. Any other failure is one. */
async function readOf(pid: number, file: string): Promise<string | undefined> {
  try {
    return await patiently(() => readFile(`/proc/${pid}/${file}`, "latin1"));
  } catch (error) {
    const code = codeOf(error);
    if (GONE.has(code) || FOREIGN.has(code)) return undefined;
    throw error;
  }
}

/** Reads; again after a while where the system could not, as when it had no file descriptor left. */
async function patiently<T>(read: () => Promise<T>): Promise<T> {
  for (const pauseMs of RETRY_PAUSES_MS) {
    try {
      return await read();
    } catch (error) {
      const code = codeOf(error);
      if (GONE.has(code) || FOREIGN.has(code)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return read();
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
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
