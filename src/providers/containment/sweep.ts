import type { ProcessEntry } from "./processes.js";

// This file is also loaded by the watchdog's own process: it imports nothing of the project but types.

/** A process by PID and start time, so that one which got the same PID later is not taken for it. */
export type ProcessIdentity = Pick<ProcessEntry, "pid" | "startTime">;

/** What belongs together: everything that carries the mark, and everything that descends from a known process. */
export interface TreeMembers {
  readonly mark: string;
  /** Start times of processes that were seen to belong to it, by PID; each scan adds to it. */
  readonly known: Map<number, string>;
}

/** What the last steps of the ladder may take, in milliseconds. */
export interface SweepLimits {
  /** From SIGTERM to SIGKILL. 0 sends no SIGTERM. */
  readonly termGraceMs: number;
  /** From the first SIGKILL until what is still there counts as escaped. */
  readonly killLimitMs: number;
}

/** How often the stopping looks for what was started meanwhile, before it kills what it has. */
const STOP_ROUNDS = 32;

/** Lists the processes, as a parameter: one function serves the runtime, its watchdog and tests. */
export type ListProcesses = () => Promise<ProcessEntry[]>;

/** Returns those of `processes` that belong to `tree`, and remembers them in it. */
export function findMembers(processes: readonly ProcessEntry[], tree: TreeMembers): ProcessEntry[] {
  const members = new Map<number, ProcessEntry>();
  const leaders = knownLeaders(processes, tree);
  const belongs = (entry: ProcessEntry): boolean =>
    entry.marks.includes(tree.mark) ||
    tree.known.get(entry.pid) === entry.startTime ||
    members.has(entry.parent) ||
    leaders.has(entry.session) ||
    leaders.has(entry.group);
  let rest = processes.filter((entry) => entry.pid !== process.pid && entry.pid !== 1);
  for (let found = rest.filter(belongs); found.length > 0; found = rest.filter(belongs)) {
    for (const entry of found) {
      members.set(entry.pid, entry);
      tree.known.set(entry.pid, entry.startTime);
      leaders.add(entry.pid);
    }
    rest = rest.filter((entry) => !members.has(entry.pid));
  }
  return [...members.values()];
}

/** The PIDs of known processes whose sessions are the tree's: but not where another process now has the PID. */
function knownLeaders(processes: readonly ProcessEntry[], tree: TreeMembers): Set<number> {
  const leaders = new Set(tree.known.keys());
  for (const entry of processes) {
    if (leaders.has(entry.pid) && tree.known.get(entry.pid) !== entry.startTime) leaders.delete(entry.pid);
  }
  return leaders;
}

/**
 * Ends everything of `tree`: SIGTERM, a grace, then SIGSTOP and SIGKILL until
 * none is left. Stopping all before killing any keeps them from starting new
 * ones meanwhile. Returns what survived, normally nothing.
 */
export async function endMembers(
  tree: TreeMembers,
  limits: SweepLimits,
  listProcesses: ListProcesses,
): Promise<ProcessEntry[]> {
  let members = findMembers(await listProcesses(), tree);
  if (members.length > 0 && limits.termGraceMs > 0) {
    for (const member of members) signal(member, "SIGTERM");
    members = await waitUntilNone(tree, limits.termGraceMs, listProcesses);
  }
  const deadline = performance.now() + limits.killLimitMs;
  while (members.length > 0) {
    members = await stopAll(tree, members, listProcesses);
    for (const member of members) signal(member, "SIGKILL");
    members = await waitUntilNone(tree, 100, listProcesses);
    if (performance.now() > deadline) break;
  }
  return members;
}

/** Stops the members and whatever they started until then; returns all that are stopped. */
async function stopAll(
  tree: TreeMembers,
  first: readonly ProcessEntry[],
  listProcesses: ListProcesses,
): Promise<ProcessEntry[]> {
  const stopped = new Map<number, ProcessEntry>();
  let members = [...first];
  for (let round = 0; round < STOP_ROUNDS; round++) {
    const fresh = members.filter((member) => !stopped.has(member.pid));
    if (fresh.length === 0) break;
    for (const member of fresh) {
      signal(member, "SIGSTOP");
      stopped.set(member.pid, member);
    }
    members = findMembers(await listProcesses(), tree);
    letGo(stopped, members);
  }
  return members;
}

/** A stopped process that is no member any more is gone, or is another one that got its PID: that one goes on. */
function letGo(stopped: Map<number, ProcessEntry>, members: readonly ProcessEntry[]): void {
  const pids = new Set(members.map((member) => member.pid));
  for (const [pid, entry] of stopped) {
    if (pids.has(pid)) continue;
    signal(entry, "SIGCONT");
    stopped.delete(pid);
  }
}

/** Waits until no member is left, looking ever less often; returns what is left after `limitMs`. */
export async function waitUntilNone(
  tree: TreeMembers,
  limitMs: number,
  listProcesses: ListProcesses,
): Promise<ProcessEntry[]> {
  const deadline = performance.now() + limitMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 100)) {
    const members = findMembers(await listProcesses(), tree);
    const leftMs = deadline - performance.now();
    if (members.length === 0 || leftMs <= 0) return members;
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, leftMs)));
  }
}

/** Sends a signal; a process that is gone or not ours to signal stays for the next scan to report. */
function signal(member: ProcessEntry, name: NodeJS.Signals): void {
  try {
    process.kill(member.pid, name);
  } catch {
    // ESRCH: it is gone. EPERM: it took other rights; the scan that follows reports it as escaped.
  }
}
