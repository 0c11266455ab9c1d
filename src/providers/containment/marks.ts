import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { listProcesses, MARK_VARIABLE, readProcess } from "./processes.js";
import type { ProcessIdentity } from "./sweep.js";

/** What a runtime writes down of a process tree before it starts it, so that the next one can end it. */
export interface MarkRecord {
  readonly mark: string;
  /** Whose tree it is, such as an execution's ID. */
  readonly label: string;
  readonly host: string;
  /** Which start of the machine: after another one, nothing is left to end. Empty where the system does not tell. */
  readonly boot: string;
  /** The runtime's own process: while it lives, the tree is its. */
  readonly owner: ProcessIdentity;
  /** The processes that it started: all there is to go by where marks cannot be read. */
  readonly roots: readonly ProcessIdentity[];
}

/** Returns a new mark: 128 random bits in hexadecimal. */
export function createMark(): string {
  return randomBytes(16).toString("hex");
}

/** The environment variables that carry `mark`, and those of the runtimes that this one runs under. */
export function markVariables(mark: string): Record<string, string> {
  const inherited = Object.entries(process.env).filter(([name]) => name.startsWith(MARK_VARIABLE));
  return { ...Object.fromEntries(inherited.map(([name]) => [name, "1"])), [`${MARK_VARIABLE}${mark}`]: "1" };
}

/** The records of one data directory. Several runtimes may share it. */
export interface MarkFolder {
  /** Writes a record, or its new version, so that a crash leaves the old or the new. */
  write(mark: string, label: string, roots: readonly ProcessIdentity[]): Promise<void>;
  remove(mark: string): Promise<void>;
  /** The records whose runtime is gone while the machine is still up. Removes those that can mean nothing any more. */
  orphans(): Promise<MarkRecord[]>;
}

/** Opens the folder of records at `path`, making it where there is none. */
export async function openMarkFolder(path: string): Promise<MarkFolder> {
  await mkdir(path, { recursive: true });
  const here = { host: hostname(), boot: await readBoot(), owner: await readOwner() };
  const file = (mark: string): string => join(path, `${mark}.json`);
  return {
    async write(mark, label, roots) {
      const record: MarkRecord = { mark, label, ...here, roots };
      await writeFile(`${file(mark)}.new`, JSON.stringify(record), { mode: 0o600 });
      await rename(`${file(mark)}.new`, file(mark));
    },
    remove: (mark) => rm(file(mark), { force: true }),
    async orphans() {
      const names = (await readdir(path)).filter((name) => name.endsWith(".json"));
      const records = await Promise.all(names.map((name) => readOrphan(join(path, name), here)));
      return records.filter((record) => record !== undefined);
    },
  };
}

/** Reads a record if its runtime is gone, and removes one that means nothing any more. One that cannot be read stays. */
async function readOrphan(path: string, here: Pick<MarkRecord, "host" | "boot">): Promise<MarkRecord | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    // One was removed by its own runtime meanwhile, the other is of another user's.
    if (error.code === "ENOENT" || error.code === "EACCES") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const record = parseRecord(text);
  if (record === undefined || (record.host === here.host && record.boot !== here.boot)) {
    await rm(path, { force: true });
    return undefined;
  }
  return record.host === here.host && !(await isAlive(record.owner)) ? record : undefined;
}

/** Undefined where the text is no record, as after a full disk. */
function parseRecord(text: string): MarkRecord | undefined {
  try {
    const record = JSON.parse(text) as MarkRecord;
    return /^[0-9a-f]{32}$/.test(record.mark) && Array.isArray(record.roots) && Number.isInteger(record.owner.pid)
      ? record
      : undefined;
  } catch {
    return undefined;
  }
}

async function readBoot(): Promise<string> {
  const path = "/proc/sys/kernel/random/boot_id";
  return (
    await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      // Only a system that has none: taken for another start of the machine, it would have all records removed.
      if (error.code === "ENOENT") return "";
      throw error;
    })
  ).trim();
}

async function readOwner(): Promise<ProcessIdentity> {
  return { pid: process.pid, startTime: (await identify(process.pid))?.startTime ?? "" };
}

async function isAlive(owner: ProcessIdentity): Promise<boolean> {
  return (await identify(owner.pid))?.startTime === owner.startTime;
}

/** Returns the process with this PID as it can be told from a later one with the same; undefined where it is gone. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  if (process.platform === "linux") return readProcess(pid);
  return (await listProcesses()).find((entry) => entry.pid === pid);
}
