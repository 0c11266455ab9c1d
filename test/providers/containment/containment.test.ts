import { randomInt } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Containment } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import type { Log } from "../../../src/core/provider.js";
import {
  type ContainmentMode,
  openContainment,
  type ProcessContainment,
} from "../../../src/providers/containment/containment.js";
import { probeNamespace } from "../../../src/providers/containment/namespace.js";
import { processesWith, until } from "../../support/processes.js";
import { firstLine, runSource } from "../../support/run-source.js";

const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const full = (await probeNamespace(false)) !== undefined;
const environment = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };

/** What real agents and the programs they start do, as shell scripts; SLEEP is a `sleep` that the test can find. */
const misbehaviours: readonly (readonly [what: string, script: string, processes: number])[] = [
  ["a plain child", "exec SLEEP", 1],
  ["a shell wrapper", "SLEEP; true", 1],
  ["a child that executes itself anew", "exec sh -c 'exec sh -c \"exec SLEEP\"'", 1],
  ["a grandchild with a session of its own", "setsid SLEEP & wait", 1],
  ["a child that ignores SIGTERM", "trap '' TERM; SLEEP & SLEEP & wait; wait; SLEEP", 2],
  ["a grandchild in its own session that ignores SIGTERM", "setsid sh -c 'trap \"\" TERM; SLEEP' & wait", 1],
  ["a daemon whose parents are gone", "(setsid sh -c 'SLEEP & SLEEP &' &); cat", 2],
  ["a program that stays after its input ended", "cat; SLEEP", 0],
  ["a child that clears its environment", 'env -i PATH="$PATH" setsid SLEEP & wait', 1],
  ["a child without environment whose parent is gone", '(env -i PATH="$PATH" SLEEP &); cat', 1],
  ["a child that stopped itself", "SLEEP & sleep 0.2; kill -STOP $!; wait", 1],
];

let dataDir = "";
let containment: ProcessContainment | undefined;
let token = "";

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "containment-"));
  token = `${randomInt(100_000, 999_999)}.${randomInt(100_000, 999_999)}`;
});

afterEach(async () => {
  await containment?.close();
  containment = undefined;
  await rm(dataDir, { recursive: true });
  const left = await processesWith(token);
  for (const pid of left) process.kill(Number(pid), "SIGKILL");
  expect(left).toEqual([]);
});

const withToken = (script: string): string => script.replaceAll("SLEEP", `sleep ${token}`);

async function open(mode: ContainmentMode): Promise<ProcessContainment> {
  containment = await openContainment({ dataDir, mode, log });
  return containment;
}

/** Starts a script in a tree and waits until as many of its processes sleep. */
async function startScript(mode: ContainmentMode, script: string, processes: number) {
  const tree = (await open(mode)).createTree("exe_1");
  const child = await tree.spawn({ command: "/bin/sh", args: ["-c", withToken(script)], cwd: "/", env: environment });
  child.stdout.resume();
  await until(`${processes} processes of ${script}`, async () => (await sleepers()).length >= processes);
  return { tree, child };
}

/** The sleeps themselves: not the shells whose command line names them. */
async function sleepers(): Promise<string[]> {
  return processesWith(`sleep\0${token}`);
}

const limits = { eofGraceMs: 100, termGraceMs: 200 };
const levels = [["marked", Containment.MARKED], ...(full ? [["full", Containment.FULL] as const] : [])] as const;

for (const [mode, level] of levels) {
  describe(`containment ${mode}`, () => {
    test.each(misbehaviours)("C05 nothing is left of %s when its tree has ended", async (_, script, processes) => {
      const { tree } = await startScript(mode, script, processes);
      const report = await tree.end(limits);
      expect(report).toEqual({ level, escaped: [] });
      expect(await processesWith(token)).toEqual([]);
      expect(await readdir(join(dataDir, "processes"))).toEqual([]);
    });

    test.each(misbehaviours)("C05 nothing is left of %s when the runtime is killed", async (_, script, processes) => {
      const runtime = runSource(new URL("./runtime.ts", import.meta.url), [dataDir, mode, withToken(script)]);
      await firstLine(runtime);
      await until(`${processes} processes`, async () => (await sleepers()).length >= processes);
      runtime.kill("SIGKILL");
      await until("the watchdog ends the tree", async () => (await processesWith(token)).length === 0);
    });
  });
}

test.runIf(full)("C05 in a namespace not even a daemon without environment escapes", async () => {
  const { tree } = await startScript("full", "(env -i setsid sh -c 'SLEEP &' &); cat", 1);
  expect((await tree.end(limits)).escaped).toEqual([]);
});

test.each([
  ["the process group", "SLEEP & SLEEP & wait", 2],
  ["a grandchild in a session of its own, while its parents live", "setsid SLEEP & wait", 1],
])("C05 where marks cannot be read, %s still ends", async (_, script, processes) => {
  const { tree } = await startScript("best_effort", script, processes);
  expect(await tree.end(limits)).toEqual({ level: Containment.BEST_EFFORT, escaped: [] });
});

test("C05 what was left behind by a runtime and its watchdog is ended by the next one", async () => {
  const runtime = runSource(new URL("./runtime.ts", import.meta.url), [
    dataDir,
    "marked",
    withToken("setsid SLEEP & wait"),
  ]);
  await firstLine(runtime);
  await until("the child sleeps", async () => (await sleepers()).length === 1);
  for (const watchdog of await watchdogsOf(runtime.pid)) process.kill(Number(watchdog), "SIGKILL");
  runtime.kill("SIGKILL");
  await until("the runtime is gone", () => runtime.signalCode !== null || runtime.exitCode !== null);
  expect(await sleepers()).toHaveLength(1);
  const { swept } = await open("marked");
  expect([...swept]).toEqual([["exe_test", { level: Containment.MARKED, escaped: [] }]]);
  expect(await sleepers()).toEqual([]);
  expect(await readdir(join(dataDir, "processes"))).toEqual([]);
});

/** The watchdogs that a runtime has started: its own, not those of other tests that run at the same time. */
async function watchdogsOf(runtimePid: number | undefined): Promise<string[]> {
  const watchdogs = await processesWith("watchdog.ts");
  const parents = await Promise.all(watchdogs.map((pid) => readFile(`/proc/${pid}/stat`, "latin1").catch(() => "")));
  return watchdogs.filter((_, index) => parents[index]?.split(") ")[1]?.split(" ")[1] === String(runtimePid));
}

test("C05 the trees of a runtime that lives are left alone by another with the same folder", async () => {
  const { tree } = await startScript("marked", "exec SLEEP", 1);
  const other = await openContainment({ dataDir, mode: "marked", log });
  expect(other.swept.size).toBe(0);
  expect(await sleepers()).toHaveLength(1);
  await other.close();
  await tree.end(limits);
});

test("a record that a crash cut short is removed and ends nothing", async () => {
  await open("marked");
  await writeFile(join(dataDir, "processes", "x.json"), '{"mark":"');
  await containment?.close();
  expect((await open("marked")).swept.size).toBe(0);
  expect(await readdir(join(dataDir, "processes"))).toEqual([]);
});

test("a program that ends at the end of its input is not kept waiting for", async () => {
  const { tree, child } = await startScript("marked", "cat >/dev/null", 0);
  await tree.end({ eofGraceMs: 10_000, termGraceMs: 10_000 });
  expect(await child.exited).toEqual({ code: 0, signal: undefined });
});

test("one program of a tree ends without the others", async () => {
  const { tree } = await startScript("marked", "exec SLEEP", 1);
  const command = { command: "/bin/sh", args: ["-c", withToken("setsid SLEEP & wait")], cwd: "/", env: environment };
  const second = await tree.spawn(command);
  await until("both sleep", async () => (await sleepers()).length === 2);
  await second.end(limits);
  expect(await sleepers()).toHaveLength(1);
  await tree.end(limits);
});

test("a tree ends once, whoever asks, and starts nothing afterwards", async () => {
  const { tree } = await startScript("marked", "exec SLEEP", 1);
  const [first, second] = await Promise.all([tree.end(limits), tree.end(limits)]);
  expect(second).toBe(first);
  const late = tree.spawn({ command: "/bin/true", args: [], cwd: "/", env: {} });
  await expect(late).rejects.toThrow("the process tree has ended");
});

test("a program's environment is what it was given, and the marks", async () => {
  const tree = (await open("marked")).createTree("exe_1");
  const child = await tree.spawn({ command: "/usr/bin/env", args: [], cwd: "/", env: environment });
  let output = "";
  for await (const chunk of child.stdout) output += String(chunk);
  const names = output
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split("=")[0]);
  expect(names.filter((name) => !/^(HARNESS_MARK_[0-9a-f]{32}|PATH)$/.test(name ?? ""))).toEqual([]);
  expect(names.filter((name) => name?.startsWith("HARNESS_MARK_"))).toHaveLength(2);
  await tree.end(limits);
});

test("a program that cannot be started is an error, and its tree still ends", async () => {
  const tree = (await open("marked")).createTree("exe_1");
  await expect(tree.spawn({ command: "/no/such/program", args: [], cwd: "/", env: {} })).rejects.toThrow("ENOENT");
  expect((await tree.end(limits)).escaped).toEqual([]);
});
