import { access, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { build, ROOT, type Running, type Served, serve, startCommand } from "../cli/support/processes.js";
import { until } from "../support/processes.js";
import { type ScriptedModel, startScriptedModel } from "../support/scripted-model/server.js";
import { type AgentName, isInstalled, makeRoot, processesUnder, settle } from "./real-agent.js";

const LIMIT_MS = 90_000;
const AGENTS: readonly AgentName[] = ["gemini", "codex", "opencode"];
const PROGRAM = join(ROOT, "dist/src/cli/main.js");

vi.setConfig({ testTimeout: 2 * LIMIT_MS, hookTimeout: 2 * LIMIT_MS });

beforeAll(() => build());

describe.each(AGENTS.filter(isInstalled))("harness serve and harness run with %s", (name) => {
  let root: string;
  let model: ScriptedModel;
  let served: Served;

  beforeAll(async () => {
    root = await makeRoot(name);
    model = await startScriptedModel();
    const { agent, command, args, env, cwd } = await settle(name, root, model.url);
    const settings = { agent, command, ...(args === undefined ? {} : { args }), env, cwd };
    const file = join(root, "harness.yaml");
    await writeFile(file, stringify({ providers: { acp: { [name]: settings } } }));
    served = await serve(["--config", file], join(root, "data"));
  });

  afterAll(async () => {
    if (served.running.child.exitCode === null && served.running.child.signalCode === null) await served.stop();
    expect(await processesUnder(root)).toEqual([]);
    await model.close();
    await rm(root, { recursive: true, force: true });
  });

  /** Runs `harness run` with a terminal for standard input, output and error. */
  function runOnTerminal(...turns: readonly string[]): Running {
    const prompt = ["Do it.", ...turns.map((turn) => `@model ${turn}`)].join("\n").replaceAll("'", "'\\''");
    // Without `exec` a shell that stays, as dash does, ends with Ctrl-C itself.
    const command = `exec ${process.execPath} ${PROGRAM} run ${name} '${prompt}' --url ${served.url}`;
    return startCommand("script", ["-qefc", command, "/dev/null"], { env: { TERM: "xterm-256color", NO_COLOR: "1" } });
  }

  test("it streams text, shows the tool call, asks for the approval on the terminal, and the file is written", async () => {
    const path = join(root, "workspace", "hello.txt");
    const running = runOnTerminal(`shell printf hello > ${path}`, "text the file is written");
    await running.saw(/number, or y\/n: |approve\? y\/n: /);
    expect(await exists(path)).toBe(false);
    running.child.stdin?.write("y\r");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout).toContain("the file is written");
    expect(stdout).toContain("printf hello");
    expect(await readFile(path, "utf8")).toBe("hello");
  });

  test("Ctrl-C cancels it: nothing is left, and the model's answer is cut", async () => {
    const running = runOnTerminal("slow 50 2000");
    await running.saw(/w3/);
    running.child.stdin?.write("\u0003");
    expect(await running.ended).toMatchObject({ code: 3, stdout: expect.stringContaining("CANCELLED") });
    await until("the model's requests are over", () => model.log.every(({ cut }) => cut !== undefined));
  });

  test("C05 nothing is left of it when the server is killed (−9)", async () => {
    const running = runOnTerminal("slow 50 2000");
    await running.saw(/w3/);
    served.running.child.kill("SIGKILL");
    await until("the agent is ended", async () => (await processesUnder(root)).length === 0, LIMIT_MS);
    await until("the model's requests are over", () => model.log.every(({ cut }) => cut !== undefined));
    running.child.kill("SIGKILL");
    await running.ended;
  });
});

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
