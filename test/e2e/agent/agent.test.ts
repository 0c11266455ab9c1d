import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ScriptedModel, startScriptedModel } from "../../support/scripted-model/server.js";
import { type BuiltServer, startBuiltServer } from "../wire/built-server.js";

const require = createRequire(import.meta.url);
const FILES = join(dirname(require.resolve("@modelcontextprotocol/server-filesystem/package.json")), "dist/index.js");
const HARNESS = resolve(import.meta.dirname, "../../../bin/harness.mjs");

/** The program in Go and grpcurl, as .ci/steps builds them. */
const GO_AGENT = process.env["HARNESS_TEST_GO_AGENT"] ?? "";
const GRPCURL = process.env["HARNESS_TEST_GRPCURL"] ?? "";

const run = promisify(execFile);

let model: ScriptedModel;
let folder = "";
let server: BuiltServer;

beforeAll(async () => {
  model = await startScriptedModel();
  folder = await mkdtemp(join(tmpdir(), "agent-e2e-"));
  const config = {
    providers: {
      agent: {
        helper: {
          model: { provider: "openai-compatible", model: "scripted", base_url: `${model.url}/v1` },
          mcp: { files: { command: process.execPath, args: [FILES, folder] } },
          budgets: { max_model_calls: 5 },
        },
      },
    },
  };
  const path = join(folder, "harness.yaml");
  await writeFile(path, JSON.stringify(config));
  server = await startBuiltServer("--config", path, "--log-level", "warn");
}, 60_000);

afterAll(async () => {
  await server?.close();
  await model.close();
  await rm(folder, { recursive: true });
});

/** What the agent is told: to write a file, which needs an approval, and then to say so. */
function writing(name: string): { readonly prompt: string; readonly written: () => Promise<string> } {
  const path = join(folder, name);
  const call = JSON.stringify({ path, content: `by ${name}` });
  return {
    prompt: `Write.\n@model tool write_file ${call}\n@model text it is written`,
    written: () => readFile(path, "utf8"),
  };
}

test("an agent from a configuration file is run by the command line", async () => {
  const { stdout } = await run(process.execPath, [
    HARNESS,
    "run",
    "helper",
    "hello\n@model text good day",
    "--url",
    server.url,
  ]);
  expect(stdout).toBe("good day\n");
});

test.skipIf(GO_AGENT === "")(
  "a Go program starts the agent and approves its tool (skipped where the program is not built)",
  async () => {
    const { prompt, written } = writing("go.txt");
    const { stdout } = await run(GO_AGENT, [server.url, "helper", prompt]);
    expect(stdout).toBe("asked: Allow write_file?\ncompleted: it is written\n");
    expect(await written()).toBe("by go.txt");
  },
);

test.skipIf(GRPCURL === "")(
  "grpcurl starts the agent and approves its tool (skipped where grpcurl is not installed)",
  async () => {
    const { prompt, written } = writing("grpcurl.txt");
    const call = async (method: string, message: unknown) => {
      const address = `127.0.0.1:${server.port}`;
      const { stdout } = await run(GRPCURL, [
        "-plaintext",
        "-d",
        JSON.stringify(message),
        address,
        `harnessruntime.v1.${method}`,
      ]);
      return JSON.parse(stdout);
    };
    const { execution } = await call("ExecutionService/StartExecution", {
      providerId: "helper",
      input: { text: prompt },
    });
    const executionId: string = execution.id;
    let actions: { readonly id: string; readonly title: string }[] = [];
    await expect
      .poll(
        async () => {
          actions = (await call("ActionService/ListActions", { executionId })).actions ?? [];
          return actions.map(({ title }) => title);
        },
        { timeout: 15_000 },
      )
      .toEqual(["Allow write_file?"]);
    await call("ActionService/RespondAction", { executionId, actionId: actions[0]?.id, response: { approved: true } });
    const ended = await call("ExecutionService/WaitExecution", { executionId, timeout: "30s" });
    expect(ended.execution).toMatchObject({ state: "EXECUTION_STATE_SUCCEEDED", finalOutput: "it is written" });
    expect(await written()).toBe("by grpcurl.txt");
  },
);
