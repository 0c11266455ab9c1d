import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const repository = join(import.meta.dirname, "../..");
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "harness-launcher-"));
  write("package.json", '{ "type": "module" }');
  cpSync(join(repository, "bin"), join(root, "bin"), { recursive: true });
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

function harness(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(root, "bin/harness.mjs"), ...args], { encoding: "utf8" });
}

describe("an installed package", () => {
  test("runs what it brings, with the arguments, and builds nothing", () => {
    write("dist/src/cli/main.js", "console.log(process.argv.slice(2).join()); process.exitCode = 5;");
    expect(harness("serve", "--port", "0")).toMatchObject({ status: 5, stdout: "serve,--port,0\n", stderr: "" });
  });

  test("shows where a bug was thrown", () => {
    write("dist/src/cli/main.js", 'throw new Error("a bug");');
    const { status, stderr } = harness();
    expect(status).toBe(1);
    expect(stderr).toContain("main.js:1:7");
  });
});

describe("a clone", () => {
  beforeEach(() => {
    cpSync(join(repository, "scripts/build.mjs"), join(root, "scripts/build.mjs"));
    write("tsconfig.build.json", '{ "compilerOptions": { "rootDir": ".", "types": [] }, "include": ["src"] }');
    write("src/cli/main.ts", 'console.log("first");\n');
  });

  test("builds before it runs what has changed, and says so on standard error alone", () => {
    symlinkSync(join(repository, "node_modules"), join(root, "node_modules"));
    expect(harness()).toEqual(expect.objectContaining({ stdout: "first\n", stderr: "harness: building dist\n" }));
    expect(harness()).toEqual(expect.objectContaining({ stdout: "first\n", stderr: "" }));
    write("src/cli/main.ts", 'console.log("second");\n');
    expect(harness()).toEqual(expect.objectContaining({ stdout: "second\n", stderr: "harness: building dist\n" }));
  });

  test("without its dependencies says in one line what to run", () => {
    expect(harness()).toMatchObject({
      status: 1,
      stderr: "harness: building dist\nharness: cannot build without the development dependencies. Run npm ci first.\n",
    });
  });
});
