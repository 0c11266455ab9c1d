import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { build, ROOT, type Running, type Served, serve, startCommand } from "./support/processes.js";

/** Each test starts processes, which a busy machine takes its time for. */
vi.setConfig({ testTimeout: 180_000 });

const PROGRAM = join(ROOT, "dist/src/cli/main.js");
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

/** What is left to read of what was written to a terminal. */
function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll("\r", "");
}

describe.skipIf(!hasScript)("on a terminal (skipped where `script` is not there to make one)", () => {
  let served: Served;

  beforeAll(async () => {
    build();
    served = await serve();
  }, 120_000);

  afterAll(() => served.stop());

  /** Runs a script of the provider with a terminal for standard input, output and error. */
  function onTerminal(steps: readonly object[], env: Readonly<Record<string, string>> = {}): Running {
    const config = JSON.stringify({ steps }).replaceAll("'", "'\\''");
    const command = `${process.execPath} ${PROGRAM} run scripted in --config '${config}' --url ${served.url}`;
    return startCommand("script", ["-qefc", command, "/dev/null"], { env: { TERM: "xterm-256color", ...env } });
  }

  test("an approval is asked for, again where the answer is none, and the answer counts", async () => {
    const running = onTerminal([
      { approval: { title: "Deploy?", payload: { to: "production" } } },
      { text: "deployed" },
    ]);
    await running.saw(/Deploy\?[\s\S]*"to":"production"[\s\S]*approve\? y\/n: /);
    running.child.stdin?.write("perhaps\r");
    await running.saw(/that is no answer/);
    running.child.stdin?.write("y\r");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/deployed/);
  });

  test("one of the options is chosen by its number", async () => {
    const options = [
      { id: "once", label: "Once", kind: "ACTION_OPTION_KIND_ALLOW_ONCE" },
      { id: "no", label: "Never", kind: "ACTION_OPTION_KIND_REJECT_ONCE" },
    ];
    const running = onTerminal([{ approval: { title: "Allow?", options } }]);
    await running.saw(/1 {2}Once.*allow once[\s\S]*2 {2}Never[\s\S]*number, or y\/n: /);
    running.child.stdin?.write("2\r");
    expect(await running.ended).toMatchObject({ code: 1, stdout: expect.stringContaining("was denied") });
  });

  test("an option that does not say what it means is asked about", async () => {
    const options = [{ id: "staging", label: "Staging" }];
    const running = onTerminal([{ approval: { title: "Deploy?", options } }, { text: "deployed" }]);
    await running.saw(/1 {2}Staging[\s\S]*number, or y\/n: /);
    running.child.stdin?.write("1\r");
    await running.saw(/approve with it\? y\/n: /);
    running.child.stdin?.write("y\r");
    expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/deployed/) });
  });

  test("a value is asked for as its schema says", async () => {
    const running = onTerminal([{ input: { title: "How many?", schema: { type: "integer" } } }]);
    await running.saw(/How many\?[\s\S]*answer \(JSON, "integer"\): /);
    running.child.stdin?.write("12\r");
    expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^12\r$/m) });
  });

  test("an answer from elsewhere ends the question", async () => {
    const running = onTerminal([{ approval: { title: "Anybody?" } }, { text: "answered" }]);
    await running.saw(/approve\? y\/n: /);
    const [id = ""] = await running.saw(/exe_\w+/);
    await startCommand(process.execPath, [PROGRAM, "respond", id, "--approve", "--url", served.url]).ended;
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(plain(stdout)).toMatch(/approve\? y\/n: \naction\.responded .*\nanswered\nSUCCEEDED/);
  });

  test("Ctrl-C while it asks cancels", async () => {
    const running = onTerminal([{ approval: { title: "Stuck?" } }]);
    await running.saw(/approve\? y\/n: /);
    running.child.stdin?.write("\u0003");
    const { code, stdout } = await running.ended;
    expect(code).toBe(3);
    expect(plain(stdout)).toMatch(/approve\? y\/n: \ncancelling; .*\n(\S.*\n)*CANCELLED/);
  });

  test("there are colours, but none with NO_COLOR, and never those of the provider", async () => {
    const steps = [{ text: "\u001b[31mred" }];
    const coloured = (await onTerminal(steps).ended).stdout;
    expect(coloured).toContain("\u001b[32mSUCCEEDED");
    expect(coloured).not.toContain("\u001b[31m");
    expect((await onTerminal(steps, { NO_COLOR: "1" }).ended).stdout).not.toContain("\u001b[3");
  });
});
