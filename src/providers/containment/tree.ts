import type { Containment } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import { messageOf } from "../../core/message-of.js";
import { createMark, identify, markVariables } from "./marks.js";
import type { NamespaceWrapper } from "./namespace.js";
import { type ContainmentResult, couldNotList, describeProcess } from "./report.js";
import { type Command, type StartedProcess, spawnDetached } from "./spawn.js";
import {
  endMembers,
  findMembers,
  type ListProcesses,
  type ProcessIdentity,
  type SweepLimits,
  type TreeMembers,
  treeMembers,
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
   * limits; all get the same report. Never rejects: a process that stays is in
   * `escaped`, and where the system did not let it look or tidy up, that is the
   * report's `error`. What could not be looked for is looked for again later.
   */
  end(limits?: Partial<EndLimits>): Promise<ContainmentResult>;
}

/** How long each step of the ladder may take, in milliseconds. */
export interface EndLimits extends SweepLimits {
  /** From the closing of the standard inputs to SIGTERM, unless all ended before. */
  readonly eofGraceMs: number;
}

/** 1.5 s after the end of input, 1 s after SIGTERM, 4 s of SIGKILL. */
export const DEFAULT_END_LIMITS: EndLimits = { eofGraceMs: 1_500, termGraceMs: 1_000, killLimitMs: 4_000 };

/** A program of a tree. */
export interface ContainedProcess extends StartedProcess {
  /** Ends this program and what it started; the rest of the tree goes on. Rejects where the system does not let it look. */
  end(limits?: Partial<SweepLimits>): Promise<void>;
}

/** A process that is alive of a tree, or in whose session one is. */
export interface Root extends ProcessIdentity {
  /** Whether it is a program that the tree started and that has not ended: no other process has its PID. */
  readonly running: boolean;
}

/** What a tree needs of the containment that makes it. */
export interface TreeHost {
  readonly level: Containment;
  readonly wrapper: NamespaceWrapper | undefined;
  readonly listProcesses: ListProcesses;
  /** Called with what is alive of the programs that were started: before the first start, after each, and after each end. */
  record(mark: string, roots: readonly Root[]): Promise<void>;
  /** Called once, when nothing of the tree is left to end. */
  forget(mark: string): Promise<void>;
}

/** How long after a failure to look for processes it is tried again: doubled each time, up to the second. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** A program of a tree that has not ended, or that left something behind. */
interface Part {
  readonly process: ContainedProcess;
  /** The program and what it started: it has a mark of its own. */
  readonly members: TreeMembers;
  hasExited: boolean;
  isEnding: boolean;
}

/** Makes an empty tree with a mark of its own. */
export function createProcessTree(host: TreeHost): ProcessTree {
  return new MarkedTree(host);
}

class MarkedTree implements ProcessTree {
  readonly #members = treeMembers(createMark());
  readonly #parts = new Set<Part>();
  /** Those that have exited and were not looked after yet. */
  #exited: Part[] = [];
  /** Work that the end waits for; none of it rejects. */
  readonly #pending = new Set<Promise<void>>();
  #starting: Promise<unknown> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  #recording: Promise<void> = Promise.resolve();
  #isRecorded = false;
  #isForgotten = false;
  #missed: string | undefined;
  #ended: Promise<ContainmentResult> | undefined;

  constructor(private readonly host: TreeHost) {}

  spawn(command: Command): Promise<ContainedProcess> {
    const started = this.#starting.then(() => this.#start(command));
    this.#starting = started.catch(() => {});
    return started;
  }

  end(limits: Partial<EndLimits> = {}): Promise<ContainmentResult> {
    this.#ended ??= this.#endAll({ ...DEFAULT_END_LIMITS, ...limits });
    return this.#ended;
  }

  async #start(command: Command): Promise<ContainedProcess> {
    if (this.#ended !== undefined) throw new Error("the process tree has ended");
    if (!this.#isRecorded) await this.#record();
    const members = treeMembers(createMark());
    const env = { ...command.env, ...markVariables(this.#members.mark), ...markVariables(members.mark) };
    const child = await spawnDetached({ ...command, env }, this.host.wrapper);
    const process: ContainedProcess = { ...child, end: (limits = {}) => this.#endPart(part, limits) };
    const part: Part = { process, members, hasExited: false, isEnding: false };
    this.#parts.add(part);
    for (const { held } of [this.#members, members]) held.add(child.pid);
    // Not waited for: whoever asked must listen to the program's output before it can end.
    this.#inBackground(this.#identify(part));
    void child.exited.then(() => this.#onExit(part));
    return process;
  }

  /** Has `work` done before the tree ends. Where it fails, a record is older than it might be. */
  #inBackground(work: Promise<void>): void {
    const pending = work.catch(() => {}).then(() => void this.#pending.delete(pending));
    this.#pending.add(pending);
  }

  /** Has the program found by others, too, should this process die. */
  async #identify({ process, members }: Part): Promise<void> {
    const identity = await identify(process.pid);
    if (identity === undefined || !members.held.has(process.pid)) return;
    for (const { known } of [this.#members, members]) known.set(process.pid, identity.startTime);
    await this.#record();
  }

  #onExit(part: Part): void {
    part.hasExited = true;
    if (this.#ended !== undefined || part.isEnding) return;
    if (!this.#parts.has(part)) {
      this.#letGo(part);
      return;
    }
    this.#exited.push(part);
    this.#looking = this.#looking.then(() => this.#lookAfter(this.#exited.splice(0)));
    this.#inBackground(this.#looking);
  }

  /** Notes what programs left behind, before their PIDs can be others'. */
  async #lookAfter(parts: readonly Part[]): Promise<void> {
    if (parts.length === 0 || this.#ended !== undefined) return;
    try {
      const processes = await this.host.listProcesses();
      findMembers(processes, this.#members);
      for (const part of parts) if (findMembers(processes, part.members).length === 0) this.#parts.delete(part);
    } catch (error) {
      this.#missed = `what a program left behind when it ended could not be looked for: ${messageOf(error)}`;
    }
    for (const part of parts) this.#letGo(part);
    this.#inBackground(this.#record());
  }

  /** From now on the program's PID may be another process's. */
  #letGo({ process: { pid }, members }: Part): void {
    for (const { held } of [this.#members, members]) held.delete(pid);
  }

  async #endPart(part: Part, limits: Partial<SweepLimits>): Promise<void> {
    part.isEnding = true;
    try {
      const left = await endMembers(part.members, { ...DEFAULT_END_LIMITS, ...limits }, this.host.listProcesses);
      if (left.length === 0) this.#parts.delete(part);
    } finally {
      part.isEnding = false;
      if (this.#ended === undefined) {
        if (part.hasExited) this.#letGo(part);
        this.#inBackground(this.#record());
      }
    }
  }

  #record(): Promise<void> {
    const recording = this.#recording.then(async () => {
      if (this.#isForgotten) return;
      const { mark, held } = this.#members;
      const roots = [...this.#parts].flatMap(({ members }) => [...members.known]);
      await this.host.record(
        mark,
        roots.map(([pid, startTime]) => ({ pid, startTime, running: held.has(pid) })),
      );
      this.#isRecorded = true;
    });
    this.#recording = recording.catch(() => {});
    return recording;
  }

  async #endAll(limits: EndLimits): Promise<ContainmentResult> {
    const { level } = this.host;
    try {
      return { level, ...(await this.#endOnce(limits)) };
    } catch (error) {
      this.#retryLater(limits, FIRST_RETRY_MS);
      return { level, ...couldNotList(error) };
    }
  }

  async #endOnce(limits: EndLimits): Promise<Pick<ContainmentResult, "escaped" | "error">> {
    await this.#starting;
    await Promise.all(this.#pending);
    const { listProcesses } = this.host;
    const programs = [...this.#parts].map(({ process }) => process);
    // Before anything ends: what cleared its environment can still be told by its parent.
    findMembers(await listProcesses(), this.#members);
    for (const { stdin } of programs) stdin.end();
    await within(Promise.all(programs.map(({ exited }) => exited)), limits.eofGraceMs);
    const survivors = await endMembers(this.#members, limits, listProcesses);
    const error = survivors.length === 0 ? await this.#forget() : this.#missed;
    return { escaped: survivors.map(describeProcess), ...(error === undefined ? {} : { error }) };
  }

  /** Returns what went wrong. A record that stays does no harm: the next runtime finds nothing of it. */
  async #forget(): Promise<string | undefined> {
    this.#isForgotten = true;
    await this.#recording;
    try {
      await this.host.forget(this.#members.mark);
      return this.#missed;
    } catch (error) {
      return `the record of the processes could not be removed: ${messageOf(error)}`;
    }
  }

  /** Nobody waits any more, and what is left must end nevertheless. */
  #retryLater(limits: EndLimits, pauseMs: number): void {
    const again = (): void => {
      for (const part of this.#parts) if (part.hasExited) this.#letGo(part);
      this.#endOnce(limits).catch(() => this.#retryLater(limits, Math.min(2 * pauseMs, LONGEST_RETRY_MS)));
    };
    setTimeout(again, pauseMs).unref();
  }
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
