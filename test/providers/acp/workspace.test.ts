import { randomInt } from "node:crypto";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { processesWith } from "../../support/processes.js";
import { closeFixtures, openAgent } from "./fixture.js";

afterEach(closeFixtures);

describe("files", () => {
  test("are written and read inside the workspace, with the folders on the way", async () => {
    const { run, workspace } = await openAgent({ files: "read_write" });
    const path = join(workspace, "a", "b.txt");
    const live = await run([
      { write: { path, content: "one\ntwo\nthree\n" } },
      { read: { path } },
      { read: { path, line: 2, limit: 1 } },
      { read: { path, line: 3 } },
    ]);
    await live.end();
    expect(await readFile(path, "utf8")).toBe("one\ntwo\nthree\n");
    const [, ...read] = live
      .text()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).content);
    expect(read).toEqual(["one\ntwo\nthree\n", "two\n", "three\n"]);
  });

  test.each([
    ["an absolute path elsewhere", "/etc/passwd"],
    ["a way up", "../outside.txt"],
    ["a link to a folder elsewhere", "link/passwd"],
    ["a link to nothing elsewhere", "dangling"],
  ])("%s is out of reach, for reading and writing", async (_, path) => {
    const { run, workspace } = await openAgent({ files: "read_write" });
    await symlink("/etc", join(workspace, "link"));
    await symlink("/tmp/nothing-there", join(workspace, "dangling"));
    const live = await run([{ write: { path, content: "x" } }, { read: { path } }]);
    await live.end();
    const lines = live.text().trim().split("\n");
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/^error -32602: .*only what is in/);
  });

  test("a file that is not there, and a folder, are errors of the protocol's own", async () => {
    const { run } = await openAgent({ files: "read_write" });
    const live = await run([{ read: { path: "nothing" } }, { read: { path: "." } }]);
    await live.end();
    expect(live.text()).toMatch(/^error -32002: .*\nerror -32602: .*not a file/);
  });

  test("a pipe that nobody reads is no file, however often it is tried, and holds nothing up", async () => {
    const { run, workspace } = await openAgent({ files: "read_write" });
    const tries = Array.from({ length: 6 }, () => ({ write: { path: "pipe", content: "x" } }));
    const make = { shell: { command: `mkfifo '${join(workspace, "pipe")}'`, wait: true } };
    const live = await run([make, ...tries, { read: { path: "pipe" } }]);
    await live.end();
    expect(live.text().match(/error -32602: .*not a file/g)).toHaveLength(7);
  });

  test("a link within the workspace is followed, and what it leads to is written anew", async () => {
    const { run, workspace } = await openAgent();
    await writeFile(join(workspace, "real.txt"), "a longer content");
    await symlink("real.txt", join(workspace, "link.txt"));
    const live = await run([{ write: { path: "link.txt", content: "short" } }, { write: { path: ".", content: "" } }]);
    await live.end();
    expect(await readFile(join(workspace, "real.txt"), "utf8")).toBe("short");
    expect(live.text()).toMatch(/error -32602: .*not a file/);
  });

  test("what is not offered is not served", async () => {
    const { run } = await openAgent({ files: "none", terminals: false });
    const live = await run([
      { read: { path: "a" } },
      { write: { path: "a", content: "" } },
      { terminal: { command: "ls" } },
    ]);
    await live.end();
    expect(live.text().match(/error -32601/g)).toHaveLength(3);
  });
});

describe("terminals", () => {
  test("run a command in the workspace, with its output, its exit code and its end", async () => {
    const { run, workspace } = await openAgent();
    await writeFile(join(workspace, "here.txt"), "");
    const env = [{ name: "GREETING", value: "hi" }];
    const live = await run([
      { terminal: { command: "sh", args: ["-c", "ls *.txt; echo $GREETING >&2; exit 3"], env } },
    ]);
    await live.end();
    const [exit, output, gone] = live.text().trim().split("\n");
    expect(JSON.parse(exit ?? "")).toEqual({ exitCode: 3, signal: null });
    expect(JSON.parse(output ?? "")).toMatchObject({ truncated: false, exitStatus: { exitCode: 3 } });
    expect(
      JSON.parse(output ?? "")
        .output.split("\n")
        .sort(),
    ).toEqual(["", "here.txt", "hi"]);
    expect(gone).toContain("no terminal has the ID");
    expect(JSON.stringify(live.all("toolCallCompleted")[0]?.output)).toContain("here.txt");
  });

  test("take a whole line for the shell, and keep the last of what it writes", async () => {
    const { run } = await openAgent();
    const live = await run([{ terminal: { command: "printf 'aé%.0s' 1 2 3 4 5 6", outputByteLimit: 7 } }]);
    await live.end();
    expect(JSON.parse(live.text().split("\n")[1] ?? "")).toMatchObject({ output: "aéaé", truncated: true });
  });

  test("end with all that they started when they are killed", async () => {
    const { run } = await openAgent();
    const nap = `sleep 300.${randomInt(1e6, 1e7)}`;
    const live = await run([{ terminal: { command: `setsid ${nap} & ${nap}`, kill: true } }]);
    await live.end();
    expect(JSON.parse(live.text().split("\n")[0] ?? "").signal).toMatch(/SIG(TERM|KILL)/);
    expect(await processesWith(nap.replace(" ", "\0"))).toEqual([]);
  });

  test.each([
    ["outside of the workspace", { command: "ls", cwd: "/etc" }, "only what is in"],
    ["of a program that is not there", { command: "no-such-program", args: ["x"] }, "no such program"],
  ])("%s are refused", async (_, terminal, message) => {
    const { run } = await openAgent();
    const live = await run([{ terminal }]);
    await live.end();
    expect(live.text()).toContain(message);
  });
});
