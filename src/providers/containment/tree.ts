import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { constants } from "node:os";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Containment, ContainmentReportSchema } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import { createMark, identify, markVariables } from "./marks.js";
import type { NamespaceWrapper } from "./namespace.js";
import {
  endMembers,
  findMembers,
  type ListProcesses,
  type ProcessIdentity,
  type SweepLimits,
  type TreeMembers,
} from "./sweep.js";

/** Processes that are started for one purpose, and all that they start: they end together. */
export interface ProcessTree {
  /**
   * Starts a program in the tree, in a session of its own, with pipes for its
   * standard streams. `command` is an absolute path. Rejects where the system
   * cannot start it, and after {@link ProcessTree.end}.
   */
  spawn(command: Command): Promise<ContainedProcess>;
  /**
   * Ends everything: closes the standard inputs, waits, SIGTERM, waits, then
   * SIGSTOP and SIGKILL until a scan finds none. The first call decides the
   * limits; all get the same report. Never rejects for a process that stays:
   * that one is in `escaped`.
   */
  end(limits?: Partial<EndLimits>): Promise<ContainmentResult>;
}

/** What was found when a tree was ended. */
export type ContainmentResult = MessageInitShape<typeof ContainmentReportSchema> & {
  readonly level: Containment;
  /** Processes that are still alive, one description each. */
  readonly escaped: string[];
};

/** How long each step of the ladder may take, in milliseconds. */
export interface EndLimits extends SweepLimits {
  /** From the closing of the standard inputs to SIGTERM, unless all ended before. */
  readonly eofGraceMs: number;
}

/** 1.5 s after the end of input, 1 s after SIGTERM, 4 s of SIGKILL. */
export const DEFAULT_END_LIMITS: EndLimits = { eofGraceMs: 1_500, termGraceMs: 1_000, killLimitMs: 4_000 };

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment, but for the marks: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
}

export interface ExitStatus {
  /** Unset where a signal ended it. */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
}

export interface ContainedProcess {
  readonly pid: number;
  readonly stdin: ChildProcessWithoutNullStreams["stdin"];
  readonly stdout: ChildProcessWithoutNullStreams["stdout"];
  readonly stderr: ChildProcessWithoutNullStreams["stderr"];
  /** Resolves when the program itself has ended; what it started may live on. */
  readonly exited: Promise<ExitStatus>;
  /** Ends this program and what it started; the rest of the tree goes on. */
  end(limits?: Partial<SweepLimits>): Promise<void>;
}

/** What a tree needs of the containment that makes it. */
export interface TreeHost {
  readonly level: Containment;
  readonly wrapper: NamespaceWrapper | undefined;
  readonly listProcesses: ListProcesses;
  /** Called with all programs that were started so far, before and after each start. */
  record(mark: string, roots: readonly ProcessIdentity[]): Promise<void>;
  /** Called once, when nothing of the tree is left to end. */
  forget(mark: string): Promise<void>;
}

/** Makes an empty tree with a mark of its own. */
export function createProcessTree(host: TreeHost): ProcessTree {
  const members: TreeMembers = { mark: createMark(), known: new Map() };
  const processes: ContainedProcess[] = [];
  const roots: ProcessIdentity[] = [];
  const pending = new Set<Promise<void>>();
  let starting: Promise<unknown> = Promise.resolve();
  let ended: Promise<ContainmentResult> | undefined;

  const remember = async (pid: number, part: TreeMembers): Promise<void> => {
    const identity = await identify(pid);
    if (identity === undefined) return;
    for (const { known } of [members, part]) known.set(pid, identity.startTime);
    roots.push({ pid, startTime: identity.startTime });
    await host.record(members.mark, roots);
  };

  const start = async (command: Command): Promise<ContainedProcess> => {
    if (ended !== undefined) throw new Error("the process tree has ended");
    await host.record(members.mark, roots);
    const part: TreeMembers = { mark: createMark(), known: new Map() };
    const env = { ...command.env, ...markVariables(members.mark), ...markVariables(part.mark) };
    const child = await spawnDetached({ ...command, env }, host.wrapper);
    // Not waited for: whoever asked must listen to the program's output before it can end.
    const remembered = remember(child.pid, part);
    pending.add(remembered);
    void remembered.finally(() => pending.delete(remembered));
    const end = async (limits: Partial<SweepLimits> = {}): Promise<void> => {
      await remembered;
      await endMembers(part, { ...DEFAULT_END_LIMITS, ...limits }, host.listProcesses);
    };
    const contained = { ...child, end };
    processes.push(contained);
    return contained;
  };

  const endAll = async (limits: EndLimits): Promise<ContainmentResult> => {
    await starting;
    await Promise.all(pending);
    // Before anything ends: what cleared its environment can still be told by its parent.
    findMembers(await host.listProcesses(), members);
    for (const { stdin } of processes) stdin.end();
    await within(Promise.all(processes.map(({ exited }) => exited)), limits.eofGraceMs);
    const survivors = await endMembers(members, limits, host.listProcesses);
    if (survivors.length === 0) await host.forget(members.mark);
    return { level: host.level, escaped: survivors.map(({ name, pid }) => `${name} (PID ${pid})`) };
  };

  return {
    spawn(command) {
      const started = starting.then(() => start(command));
      starting = started.catch(() => {});
      return started;
    },
    end(limits = {}) {
      ended ??= endAll({ ...DEFAULT_END_LIMITS, ...limits });
      return ended;
    },
  };
}

/** Spawns in a new session; resolves once the program runs. */
async function spawnDetached(
  { command, args, cwd, env }: Command,
  wrapper: NamespaceWrapper = [],
): Promise<Omit<ContainedProcess, "end">> {
  const [file = command, ...rest] = [...wrapper, command, ...args];
  const child = spawn(file, rest, { cwd, env, detached: true, stdio: "pipe" });
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once("exit", (code, signal) => resolve(toExitStatus(code, signal, wrapper.length > 0)));
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  // Later errors, such as a write to a program that has ended, show in `exited`.
  for (const emitter of [child, child.stdin, child.stdout, child.stderr]) emitter.on("error", () => {});
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined) throw new Error(`${command} has no process ID`);
  return { pid, stdin, stdout, stderr, exited };
}

function toExitStatus(code: number | null, signal: NodeJS.Signals | null, isWrapped: boolean): ExitStatus {
  const signals = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  const told = isWrapped ? signals.find(([, number]) => code === 128 + number)?.[0] : undefined;
  if (told !== undefined) return { code: undefined, signal: told };
  return { code: code ?? undefined, signal: signal ?? undefined };
}

/** Waits for `work`, at most `limitMs`. */
async function within(work: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
