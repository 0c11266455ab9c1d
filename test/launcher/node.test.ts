import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  cachedNodeFolder,
  exitCode,
  firstError,
  isSupported,
  NODE_VERSION,
  removeAbandoned,
  tooOld,
} from "../../bin/node.mjs";
import packageFile from "../../package.json" with { type: "json" };

const withNode = join(import.meta.dirname, "../../scripts/with-node.mjs");

describe("which Node runs the package", () => {
  test.each([
    ["18.20.8", false],
    ["20.20.2", false],
    ["22.12.0", false],
    ["22.14.0", false],
    ["22.15.0", true],
    ["22.23.5", true],
    ["23.11.0", false],
    ["24.0.0", true],
    [NODE_VERSION, true],
    ["25.2.0", false],
    ["26.0.0", true],
    ["30.1.0", true],
  ])("Node %s: %s", (version, supported) => {
    expect(isSupported(version)).toBe(supported);
  });

  test("the rule is the one that package.json declares", () => {
    expect(packageFile.engines.node).toBe("^22.15.0 || ^24.0.0 || >=26.0.0");
  });

  test("the fetched Node is kept in the user's cache folder", () => {
    expect(cachedNodeFolder({}, "/home/ada")).toBe(`/home/ada/.cache/harness-runtime/node-${NODE_VERSION}`);
    expect(cachedNodeFolder({ XDG_CACHE_HOME: "/var/cache" }, "/home/ada")).toBe(
      `/var/cache/harness-runtime/node-${NODE_VERSION}`,
    );
    expect(cachedNodeFolder({ XDG_CACHE_HOME: "" }, "/home/ada")).toContain("/home/ada/.cache/");
  });
});

describe("what is said where none can be had", () => {
  test("one line says what is needed, why there is none, and what to do", () => {
    const line = tooOld("20.20.2", "none is fetched for darwin arm64");
    expect(line).toBe(
      "harness: needs Node 22.15, 24 or newer and this is 20.20.2; none is fetched for darwin arm64. Install Node 24 and run this again.",
    );
  });

  test.each([
    [
      "npm error code ENOTFOUND\nnpm error errno ENOTFOUND\nnpm error network request failed.\n",
      "network request failed",
    ],
    ["npm ERR! code E404\nnpm ERR! 404 Not Found\n", "404 Not Found"],
    ["", "it failed without a message"],
  ])("npm's own words are cut to their first useful line (%j)", (stderr, line) => {
    expect(firstError(stderr)).toBe(line);
  });
});

describe("temporary folders of work that was killed", () => {
  let cache: string;
  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), "harness-cache-"));
  });
  afterEach(() => {
    rmSync(cache, { recursive: true });
  });

  test("only those that are over an hour old, and only its own, are removed", () => {
    const old = new Date(Date.now() - 3_700_000);
    for (const name of ["node-1", "node-1.new-old", "node-1.old-old", "node-1.new-young", "node-2.new-old", "x"]) {
      mkdirSync(join(cache, name));
      writeFileSync(join(cache, name, "file"), "");
      if (!name.endsWith("young")) utimesSync(join(cache, name), old, old);
    }
    removeAbandoned(join(cache, "node-1"));
    expect(readdirSync(cache).sort()).toEqual(["node-1", "node-1.new-young", "node-2.new-old", "x"]);
  });
});

describe("a command that is run in this one's place", () => {
  test("its exit code is handed on", () => {
    const { status } = spawnSync(process.execPath, [withNode, "node", "-e", "process.exit(7)"]);
    expect(status).toBe(7);
  });

  test("it and what it starts find the same Node first", () => {
    const script = "require('child_process').execFileSync('node', ['-p', 'process.execPath'], { stdio: 'inherit' })";
    const { stdout } = spawnSync(process.execPath, [withNode, "node", "-e", script], { encoding: "utf8" });
    expect(stdout.trim()).toBe(process.execPath);
  });

  test("one that is not there is named in one line", () => {
    const { status, stderr } = spawnSync(process.execPath, [withNode, "no-such-command"], { encoding: "utf8" });
    expect(status).toBe(1);
    expect(stderr).toBe("harness: no-such-command cannot be run: spawn no-such-command ENOENT\n");
  });

  test("a signal reaches it, and how it ended is how this one ends", async () => {
    const script = "process.on('SIGTERM', () => process.exit(9)); setInterval(() => {}, 1e6); console.log('ready')";
    const child = spawn(process.execPath, [withNode, "node", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGTERM");
    expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(9);
  });

  test("the code of a process that a signal ended is the shell's", () => {
    expect(exitCode(null, "SIGTERM")).toBe(143);
    expect(exitCode(3, null)).toBe(3);
  });
});
