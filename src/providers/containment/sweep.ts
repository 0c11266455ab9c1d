import type { ProcessEntry } from "./processes.js";

// This file is also loaded by the watchdog's own process: it imports nothing of the project but types.

/** A process by PID and start time, so that one which got the same PID later is not taken for it. */
export type ProcessIdentity = Pick<ProcessEntry, "pid" | "startTime">;

/**
 * What belongs together: everything that carries the mark, everything that descends from a known process, and
 * everything in a session or process group that one of these leads. One that is dead leads its session only where
 * its PID cannot have become another's since: a PID is not given away while a process of its session is there.
 */
export interface TreeMembers {
  readonly mark: string;
  /** Start times of processes that were seen to belong to it, by PID. A scan leaves those that are alive, lead one that is, or are `held`. */
  readonly known: Map<number, string>;
  /** PIDs of its own that no other process can have: those of children that this process has not been told the end of. */
  readonly held: Set<number>;
  /** Until when no other process can have got a known PID, by `performance.now()`: the system gives PIDs in turn. */
  freshUntilMs: number;
}

/** How soon after a scan a PID that it found can have come round again, at the earliest. */
const FRESH_MS = 5_000;

/** What belongs to a mark, as far as it is known from the start. `held`: see {@link TreeMembers}. */
export function treeMembers(
  mark: string,
  known: readonly ProcessIdentity[] = [],
  held: ReadonlySet<number> = new Set(),
): TreeMembers {
  const startTimes = known.map(({ pid, startTime }): [number, string] => [pid, startTime]);
  return { mark, known: new Map(startTimes), held: new Set(held), freshUntilMs: 0 };
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

/** Returns those of `processes` that belong to `tree`, and has it know these. */
export function findMembers(processes: readonly ProcessEntry[], tree: TreeMembers): ProcessEntry[] {
  const members = new Map<number, ProcessEntry>();
  const dead = deadLeaders(processes, tree);
  const leaders = new Set(dead);
  const belongs = (entry: ProcessEntry): boolean =>
    entry.marks.includes(tree.mark) ||
    isKnown(entry, tree) ||
    members.has(entry.parent) ||
    leaders.has(entry.session) ||
    leaders.has(entry.group);
  let rest = processes.filter((entry) => entry.pid !== process.pid && entry.pid !== 1);
  for (let found = rest.filter(belongs); found.length > 0; found = rest.filter(belongs)) {
    for (const entry of found) {
      members.set(entry.pid, entry);
      leaders.add(entry.pid);
    }
    rest = rest.filter((entry) => !members.has(entry.pid));
  }
  remember(tree, dead, members);
  return [...members.values()];
}

function isKnown({ pid, startTime }: ProcessEntry, { known, held }: TreeMembers): boolean {
  return known.has(pid) ? known.get(pid) === startTime : held.has(pid);
}

/** The PIDs of processes that are dead and whose sessions are still the tree's. */
function deadLeaders(processes: readonly ProcessEntry[], tree: TreeMembers): Set<number> {
  const isFresh = performance.now() < tree.freshUntilMs;
  const living = new Set(processes.map(({ pid }) => pid));
  const led = ledBy(processes.filter((entry) => isKnown(entry, tree)));
  const candidates = [...tree.known.keys(), ...tree.held].filter((pid) => !living.has(pid));
  return new Set(candidates.filter((pid) => isFresh || tree.held.has(pid) || led.has(pid)));
}

/** The PIDs that lead the sessions and groups of these. */
function ledBy(entries: Iterable<ProcessEntry>): Set<number> {
  return new Set([...entries].flatMap(({ session, group }) => [session, group]));
}

function remember(tree: TreeMembers, dead: ReadonlySet<number>, members: ReadonlyMap<number, ProcessEntry>): void {
  const led = ledBy(members.values());
  for (const pid of tree.known.keys()) {
    const stays = tree.held.has(pid) || (dead.has(pid) && led.has(pid));
    if (!stays) tree.known.delete(pid);
  }
  for (const { pid, startTime } of members.values()) tree.known.set(pid, startTime);
  tree.freshUntilMs = performance.now() + FRESH_MS;
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
