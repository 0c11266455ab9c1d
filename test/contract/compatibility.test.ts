import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

/** A copy of what contract checks read, to break at will. */
let clone = "";

const FOLDERS = ["proto", "third_party", "scripts", "gen/ts", "docs/reference"];
const FILES = ["buf.yaml", "buf.gen.yaml", "buf.gen.vendor.yaml", "package.json"];

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "harness-contract-"));
  for (const path of [...FOLDERS, ...FILES]) cpSync(path, join(clone, path), { recursive: true });
  symlinkSync(join(process.cwd(), "node_modules"), join(clone, "node_modules"));
});

afterAll(() => rmSync(clone, { recursive: true, force: true }));

function run(program: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: clone, encoding: "utf8" });
  return { status, output: stdout + stderr };
}

const buf = (...args: readonly string[]) => run("node_modules/.bin/buf", ...args);
const breaking = () => buf("breaking", "proto", "--against", "proto/baseline.binpb");
const generateCheck = () => run(process.execPath, "scripts/generate.mjs", "--check", "ts", "docs");

/** Runs `check` while `path` has `after` in place of its one `before`. */
function edited<T>(path: string, before: string, after: string, check: () => T): T {
  const file = join(clone, "proto/harnessruntime", path);
  const original = readFileSync(file, "utf8");
  expect(original.split(before), `${path} has ${JSON.stringify(before)} once`).toHaveLength(2);
  writeFileSync(file, original.replace(before, after));
  try {
    return check();
  } finally {
    writeFileSync(file, original);
  }
}

/** Generous, for a machine that does much else. */
const TIMEOUT_MS = 120_000;

describe("a change that breaks callers", { timeout: TIMEOUT_MS }, () => {
  test("the contract as it is breaks nobody", () => {
    expect(breaking()).toEqual({ status: 0, output: "" });
  });

  test.each([
    ["a renamed field", "v1/event.proto", "string execution_id = 1;", "string run_id = 1;"],
    ["a renumbered field", "v1/event.proto", "int32 sequence = 2;", "int32 sequence = 15;"],
    ["a field of another type", "v1/event.proto", "int32 sequence = 2;", "int64 sequence = 2;"],
    ["a renamed event", "v1/event.proto", "RunCancelled run_cancelled = 27;", "RunCancelled run_canceled = 27;"],
    ["a renamed method", "v1/execution_service.proto", "rpc WaitExecution(", "rpc AwaitExecution("],
    ["a renamed enum value", "v1/execution.proto", "EXECUTION_STATE_CANCELLED", "EXECUTION_STATE_CANCELED"],
    ["a renamed message", "provider/v1/run.proto", "message Finish {", "message Finished {"],
  ])("%s is refused", (_, path, before, after) => {
    expect(edited(path, before, after, breaking).status).toBe(100);
  });
});

describe("a change without its comment or its generated files", { timeout: TIMEOUT_MS }, () => {
  test("a field without a comment is refused by the lint", () => {
    const comment = "  // When it was created.\n";
    const { status, output } = edited("v1/conversation.proto", comment, "", () => buf("lint"));
    expect(status).toBe(100);
    expect(output).toContain("conversation.proto");
  });

  test("gen/ts and docs/reference are what proto/ makes", () => {
    expect(generateCheck()).toEqual({ status: 0, output: "" });
  });

  test("an edited comment without regeneration is refused with one line that says what to run", () => {
    const { status, output } = edited("v1/usage.proto", "// An amount of money.", "// A price.", generateCheck);
    expect(status).toBe(1);
    expect(output).toMatch(
      /^generate: \S+ is not what proto\/ makes \(and \d+ more\): run npm run generate and commit the result\n$/,
    );
  });

  test("an unknown language is refused with one line that names the known ones", () => {
    expect(run(process.execPath, "scripts/generate.mjs", "rust")).toEqual({
      status: 1,
      output: "generate: unknown language rust: name some of ts, docs, go, python\n",
    });
  });

  test("a machine without Go is told what to install", () => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/generate.mjs", "--check", "go"], {
      cwd: clone,
      encoding: "utf8",
      env: { PATH: "" },
    });
    expect(status).toBe(1);
    expect(stderr).toBe("generate: Go 1.26 or newer is needed: install it, or name other languages\n");
  });
});
