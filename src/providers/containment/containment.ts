import { join } from "node:path";
import { Containment } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import type { Log } from "../../core/provider.js";
import { type MarkFolder, type MarkRecord, openMarkFolder } from "./marks.js";
import { type NamespaceWrapper, probeNamespace } from "./namespace.js";
import { canReadMarks, listProcesses } from "./processes.js";
import { type ContainmentResult, couldNotList, describeProcess } from "./report.js";
import { endMembers, type ProcessIdentity, treeMembers } from "./sweep.js";
import { createProcessTree, DEFAULT_END_LIMITS, type ProcessTree } from "./tree.js";
import { createWatch } from "./watch.js";

/**
 * How processes are to be held. `auto`: in a PID namespace where this process
 * may make one with no more rights than it has, else by marks where the system
 * shows them, else as well as can be. `full`: in a PID namespace, with a user
 * namespace if need be, or not at all. `marked`, `best_effort`: no better than that.
 */
export type ContainmentMode = "auto" | "full" | "marked" | "best_effort";

export interface ContainmentOptions {
  /** A folder that outlives this process, for the marks of living trees. Runtimes may share it. */
  readonly dataDir: string;
  /** Default `auto`. */
  readonly mode?: ContainmentMode;
  readonly log: Log;
}

/** Starts process trees and answers for their end, also when this process dies first. */
export interface ProcessContainment {
  readonly level: Containment;
  /** What dead runtimes had left behind and the opening ended, by label. */
  readonly swept: ReadonlyMap<string, ContainmentResult>;
  /** Makes an empty tree. `label` says whose it is, such as an execution's ID; {@link ProcessContainment.swept} names it so. */
  createTree(label: string): ProcessTree;
  /** Lets the watchdog go. Trees that were not ended before are ended by it. */
  close(): Promise<void>;
}

/**
 * Opens a containment, and ends what runtimes that died left behind in the same
 * `dataDir`. Throws where `mode` is `full` and that is not allowed here.
 */
export async function openContainment(options: ContainmentOptions): Promise<ProcessContainment> {
  const { mode = "auto", log } = options;
  const wrapper = mode === "auto" || mode === "full" ? await probeNamespace(mode === "full") : undefined;
  if (mode === "full" && wrapper === undefined) {
    throw new Error(
      "containment `full` needs Linux with util-linux (setpriv, unshare) and the right to make PID namespaces: " +
        "run as root, allow unprivileged user namespaces, or set containment to `auto`",
    );
  }
  const folder = await openMarkFolder(join(options.dataDir, "processes"));
  const level = levelOf(mode, wrapper);
  const swept = await sweepOrphans(folder, level, log);
  const watch = createWatch(log);
  return {
    level,
    swept,
    createTree: (label) =>
      createProcessTree({
        level,
        wrapper,
        listProcesses: level === Containment.BEST_EFFORT ? listWithoutMarks : listProcesses,
        async record(mark, roots) {
          await folder.write(mark, label, roots);
          watch.add(mark, roots);
        },
        async forget(mark) {
          watch.remove(mark);
          await folder.remove(mark);
        },
      }),
    close: () => watch.close(),
  };
}

function levelOf(mode: ContainmentMode, wrapper: NamespaceWrapper | undefined): Containment {
  if (wrapper !== undefined) return Containment.FULL;
  return canReadMarks && mode !== "best_effort" ? Containment.MARKED : Containment.BEST_EFFORT;
}

async function listWithoutMarks(): ReturnType<typeof listProcesses> {
  return (await listProcesses()).map((entry) => ({ ...entry, marks: [] }));
}

/**
 * Long after a runtime died another process may have the PID of one that it started: only marks and living processes
 * are gone by. What cleared its environment, lost its parents and outlived the watchdog as well is left alone here,
 * as it cannot be told from a stranger.
 */
async function sweepOrphans(folder: MarkFolder, level: Containment, log: Log): Promise<Map<string, ContainmentResult>> {
  const swept = new Map<string, ContainmentResult>();
  const sweep = async ({ mark, label, roots }: MarkRecord): Promise<void> => {
    const result = await endOrphans(mark, roots);
    const before = swept.get(label);
    const error = result.error ?? before?.error;
    const escaped = [...(before?.escaped ?? []), ...result.escaped];
    swept.set(label, { level, escaped, ...(error === undefined ? {} : { error }) });
    if (result.escaped.length === 0) await folder.remove(mark);
    log.info({ label, ...result }, "ended what a runtime that died had left behind");
  };
  await Promise.all((await folder.orphans()).map(sweep));
  return swept;
}

async function endOrphans(
  mark: string,
  roots: readonly ProcessIdentity[],
): Promise<Pick<ContainmentResult, "escaped" | "error">> {
  try {
    const survivors = await endMembers(treeMembers(mark, roots), DEFAULT_END_LIMITS, listProcesses);
    return { escaped: survivors.map(describeProcess) };
  } catch (error) {
    return couldNotList(error);
  }
}
