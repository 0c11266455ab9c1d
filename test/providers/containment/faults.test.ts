import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Containment } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import type { Log } from "../../../src/core/provider.js";
import { openContainment } from "../../../src/providers/containment/containment.js";
import { createMark, markVariables, openMarkFolder } from "../../../src/providers/containment/marks.js";
import { listProcesses, type ProcessEntry } from "../../../src/providers/containment/processes.js";
import { findMembers, treeMembers } from "../../../src/providers/containment/sweep.js";
import { createProcessTree, type Root, type TreeHost } from "../../../src/providers/containment/tree.js";
import { createWatch } from "../../../src/providers/containment/watch.js";
import { processesWith, until } from "../../support/processes.js";

/** What reading files fails with: a path that matches, and how often yet. */
const fault = vi.hoisted(() => ({ path: /^$/, code: "", times: 0 }));

vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof import("node:fs/promises")>();
  const readFile = async (...given: Parameters<typeof real.readFile>) => {
    if (fault.times === 0 || !fault.path.test(String(given[0]))) return real.readFile(...given);
    fault.times--;
    throw Object.assign(new Error(`${fault.code}: as the test wants it`), { code: fault.code });
  };
  return { ...real, readFile };
});

const fail = (path: RegExp, code: string, times = Number.POSITIVE_INFINITY): void => {
  Object.assign(fault, { path, code, times });
};

const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const environment = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };
const limits = { eofGraceMs: 50, termGraceMs: 100 };
let dataDir = "";
let token = "";

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "faults-"));
  token = `${randomInt(100_000, 999_999)}.${randomInt(100_000, 999_999)}`;
});

afterEach(async () => {
  fail(/^$/, "", 0);
  for (const pid of await sleepers()) process.kill(Number(pid), "SIGKILL");
  await rm(dataDir, { recursive: true });
});

const sleepers = (): Promise<string[]> => processesWith(`sleep\0${token}`);

/** A tree whose records are kept here. */
function openTree(host: Partial<TreeHost> = {}) {
  const records: (readonly Root[])[] = [];
  const forgotten: string[] = [];
  const tree = createProcessTree({
    ...{ level: Containment.MARKED, wrapper: undefined, listProcesses },
    record: async (_, roots) => void records.push(roots),
    forget: async (mark) => void forgotten.push(mark),
    ...host,
  });
  const run = async (script: string) => {
    const args = ["-c", script.replaceAll("SLEEP", `sleep ${token}`)];
    const child = await tree.spawn({ command: "/bin/sh", args, cwd: "/", env: environment });
    child.stdout.resume();
    return child;
  };
  return { tree, run, records, forgotten };
}

describe("a scan", () => {
  test.each(["EMFILE", "ENFILE", "EIO"])("that %s keeps from reading is no scan that found nothing", async (code) => {
    fail(/^\/proc\/\d+\/stat$/, code);
    await expect(listProcesses()).rejects.toThrow(code);
    fail(/^\/proc\/\d+\/environ$/, code);
    await expect(listProcesses()).rejects.toThrow(code);
  });

  test("looks again where the system could not read for a moment", async () => {
    fail(/^\/proc\/\d+\/stat$/, "EMFILE", 3);
    expect((await listProcesses()).map(({ pid }) => pid)).toContain(process.pid);
  });

  test.each(["ENOENT", "ESRCH", "EACCES", "EPERM"])(
    "takes %s for a process that is gone, or not ours",
    async (code) => {
      fail(new RegExp(`^/proc/${process.pid}/stat$`), code);
      expect((await listProcesses()).map(({ pid }) => pid)).not.toContain(process.pid);
    },
  );
});

describe("a tree that cannot look for its processes", () => {
  test("C05 says so, is not forgotten, and ends them when it can", async () => {
    let blind = true;
    const { tree, run, forgotten } = openTree({
      listProcesses: async () => {
        if (blind) throw new Error("EMFILE: too many open files");
        return listProcesses();
      },
    });
    await run("trap '' TERM; SLEEP; SLEEP");
    await until("it sleeps", async () => (await sleepers()).length === 1);
    expect(await tree.end(limits)).toEqual({
      level: Containment.MARKED,
      escaped: ["not known"],
      error: "the processes could not be listed: EMFILE: too many open files",
    });
    expect(forgotten).toEqual([]);
    expect(await sleepers()).toHaveLength(1);
    blind = false;
    await until("they are ended", async () => forgotten.length === 1);
    expect(await sleepers()).toEqual([]);
  });

  test("says that a program's leftovers were not looked for when it ended", async () => {
    let blind = true;
    const list = async () => {
      if (blind) throw new Error("EMFILE");
      return listProcesses();
    };
    const { tree, run, records } = openTree({ listProcesses: list });
    await run("true");
    const isNoted = () => records.length >= 2 && records.at(-1)?.every(({ running }) => !running);
    await until("its end is noted", () => isNoted() === true);
    blind = false;
    expect((await tree.end(limits)).error).toBe(
      "what a program left behind when it ended could not be looked for: EMFILE",
    );
  });
});

test("records that cannot be written or removed are an error of the end and of nothing else", async () => {
  let writes = 0;
  const full = async (): Promise<void> => {
    if (writes++ > 0) throw new Error("ENOSPC: no space left");
  };
  const { tree, run } = openTree({ record: full, forget: () => Promise.reject(new Error("EROFS")) });
  await run("exec SLEEP");
  const child = await run("exec SLEEP");
  await until("they sleep", async () => (await sleepers()).length === 2);
  await child.end(limits);
  expect(await tree.end(limits)).toMatchObject({
    escaped: [],
    error: "the record of the processes could not be removed: EROFS",
  });
  expect(await sleepers()).toEqual([]);
});

describe("what has ended", () => {
  test("is no longer recorded: a tree of many programs has the few that are alive", async () => {
    let looks = 0;
    const list = async () => {
      const processes = await listProcesses();
      looks++;
      return processes;
    };
    const { tree, run, records } = openTree({ listProcesses: list });
    await run("exec SLEEP");
    await until("it is recorded", () => records.at(-1)?.length === 1);
    for (let count = 1; count <= 6; count++) {
      await (await run("true")).exited;
      await until("its end is noted", () => looks === count && records.at(-1)?.length === 1);
    }
    expect(Math.max(...records.map(({ length }) => length))).toBeLessThanOrEqual(2);
    expect(records.at(-1)).toMatchObject([{ running: true }]);
    await tree.end(limits);
  });

  test("C05 and left a process without environment behind, is still answered for", async () => {
    const { tree, run, records } = openTree();
    const child = await run('(env -i PATH="$PATH" SLEEP &); sleep 0.2');
    await child.exited;
    await until("its end is noted", () => records.at(-1)?.[0]?.running === false);
    expect(await sleepers()).toHaveLength(1);
    expect((await tree.end(limits)).escaped).toEqual([]);
    expect(await sleepers()).toEqual([]);
  });
});

describe("a PID that another process may have had since", () => {
  const entry = (pid: number, session: number, more: Partial<ProcessEntry> = {}): ProcessEntry => ({
    ...{ pid, session, group: session, parent: 1, startTime: `${pid}0`, name: "daemon", marks: [] },
    ...more,
  });
  const mark = createMark();
  const root = { pid: 500, startTime: "5000" };
  const pids = (found: readonly ProcessEntry[]): number[] => found.map(({ pid }) => pid);

  test("leads no session of the tree once its process is dead", () => {
    expect(pids(findMembers([entry(600, 500)], treeMembers(mark, [root])))).toEqual([]);
    const tree = treeMembers(mark, [root]);
    expect(pids(findMembers([entry(500, 500), entry(600, 500)], tree))).toEqual([500, 600]);
    expect(findMembers([], tree)).toEqual([]);
    expect(tree.known.size).toBe(0);
    expect(findMembers([entry(601, 500)], tree)).toEqual([]);
  });

  test("is trusted while the next scan comes soon, and as long as the child was not reaped", () => {
    const soon = treeMembers(mark, [root]);
    findMembers([entry(500, 500)], soon);
    expect(pids(findMembers([entry(600, 500)], soon))).toEqual([600]);
    const late = treeMembers(mark, [root]);
    findMembers([entry(500, 500)], late);
    late.freshUntilMs = 0;
    expect(pids(findMembers([entry(600, 500)], late))).toEqual([]);
    expect(pids(findMembers([entry(600, 500)], treeMembers(mark, [], new Set([500]))))).toEqual([600]);
  });

  test("is trusted while a process of its session is there that was seen before", () => {
    const led = treeMembers(mark, [root, { pid: 600, startTime: "6000" }]);
    expect(pids(findMembers([entry(600, 500), entry(601, 500)], led)).sort()).toEqual([600, 601]);
    expect([...led.known.keys()].sort()).toEqual([500, 600, 601]);
    led.freshUntilMs = 0;
    expect(pids(findMembers([entry(601, 500), entry(602, 500)], led)).sort()).toEqual([601, 602]);
  });

  test("is not of the tree because a process with its mark is in its session", () => {
    const marked = [entry(500, 500), entry(601, 500), entry(602, 500, { marks: [mark] })];
    expect(pids(findMembers(marked, treeMembers(mark)))).toEqual([602]);
  });

  test("makes no stranger a target of the sweep at the start", async () => {
    const launcher = spawn("/bin/sh", ["-c", `sleep ${token} & sleep 0.2`], { detached: true, stdio: "ignore" });
    await new Promise((resolve) => launcher.once("exit", resolve));
    const [boot = ""] = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).split("\n");
    const record = {
      ...{ mark, label: "exe_1", host: hostname(), boot, owner: { pid: 2 ** 22 + 1, startTime: "1" } },
      roots: [{ pid: launcher.pid, startTime: "1", running: true }],
    };
    await mkdir(join(dataDir, "processes"));
    await writeFile(join(dataDir, "processes", `${mark}.json`), JSON.stringify(record));
    const containment = await openContainment({ dataDir, mode: "marked", log });
    expect([...containment.swept]).toEqual([["exe_1", { level: Containment.MARKED, escaped: [] }]]);
    expect(await sleepers()).toHaveLength(1);
    expect(await readdir(join(dataDir, "processes"))).toEqual([]);
    await containment.close();
  });
});

test.each([
  ["the records", /[0-9a-f]{32}\.json$/],
  ["which start of the machine it is", /boot_id$/],
  ["whether a runtime lives", /^\/proc\/\d+\/stat$/],
])("a start that cannot read %s removes no record", async (_, path) => {
  const folder = await openMarkFolder(dataDir);
  const mark = createMark();
  await folder.write(mark, "exe_1", []);
  fail(path, "EMFILE");
  await expect(openMarkFolder(dataDir).then((other) => other.orphans())).rejects.toThrow("EMFILE");
  expect(await readdir(dataDir)).toEqual([`${mark}.json`]);
});

test("C05 a watchdog that could not be started is there when it can be, and knows all trees", async () => {
  const program = join(dataDir, "node");
  const warned: unknown[] = [];
  const watch = createWatch({ ...log, warn: (fields) => warned.push(fields) }, program);
  const mark = createMark();
  watch.add(createMark(), []);
  watch.add(mark, []);
  await until("it was missed", () => warned.length > 0);
  await symlink(process.execPath, program);
  await until("it runs", async () => (await processesWith(`${program}\0`)).length > 0);
  const child = spawn("sleep", [token], {
    ...{ stdio: "ignore", detached: true, env: { ...environment, ...markVariables(mark) } },
  });
  const ended = new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
  await watch.close();
  expect(await ended).toMatch(/SIG(TERM|KILL)/);
});
