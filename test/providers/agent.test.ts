import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { agentProvider } from "../../src/providers/agent/provider.js";
import { type AgentSettings, parseAgentSettings } from "../../src/providers/agent/settings.js";
import { ManualClock } from "../engine/fixtures.js";
import { openLiveRuntime } from "../support/live-runtime.js";
import { type ScriptedModel, startScriptedModel } from "../support/scripted-model/server.js";

const require = createRequire(import.meta.url);
const FILES = join(dirname(require.resolve("@modelcontextprotocol/server-filesystem/package.json")), "dist/index.js");

let model: ScriptedModel;
let dir = "";

beforeAll(async () => {
  model = await startScriptedModel();
  dir = await mkdtemp(join(tmpdir(), "agent-"));
});
afterAll(async () => {
  await model.close();
  await rm(dir, { recursive: true });
});

const LOCAL: JsonObject = { provider: "openai-compatible", model: "scripted", base_url: "http://127.0.0.1:1/v1" };

/** Settings as a file has them, with the scripted model and a folder's tools. */
function settings(more: JsonObject = {}): AgentSettings {
  return parseAgentSettings({
    id: "helper",
    model: { ...LOCAL, base_url: `${model.url}/v1`, max_retries: 0 },
    mcp: { files: { command: process.execPath, args: [FILES, dir], prefix: "fs_" } },
    ...more,
  });
}

async function open(given: AgentSettings, options: Parameters<typeof agentProvider>[1] = {}) {
  // A clock that stands still: the runtime waits for the agent however long its servers take.
  const agent = agentProvider(given, { clock: new ManualClock(), ...options });
  const live = await openLiveRuntime({ providers: [agent] });
  onTestFinished(() => live.close());
  return live;
}

describe("an agent's settings", () => {
  test.each<[string, JsonObject, string]>([
    ["no model", {}, "agent"],
    ["no main model", { models: { critic: LOCAL } }, "agent.models"],
    ["an unknown key", { model: LOCAL, colour: "red" }, "colour"],
    ["an unknown vendor", { model: { provider: "acme", model: "x" } }, "agent.model.provider"],
    ["no address", { model: { provider: "openai-compatible", model: "x" } }, "agent.models.main.base_url"],
    ["a key in the file", { model: { ...LOCAL, api_key: "sk-1" } }, "api_key"],
    ["a server that is neither", { model: LOCAL, mcp: { files: { args: [] } } }, "agent.mcp.files"],
    ["a server that is both", { model: LOCAL, mcp: { files: { command: "x", url: "http://y" } } }, "agent.mcp.files"],
    ["a budget that is none", { model: LOCAL, budgets: { max_tokens: -1 } }, "agent.budgets.max_tokens"],
    ["a critic with no model", { model: LOCAL, critic: { criteria: "short" } }, "agent.critic.role"],
    ["a summary with no model", { model: LOCAL, summary: {} }, "agent.summary.role"],
    ["tools of nobody", { model: LOCAL, tools: ["x"] }, "agent.tools"],
    [
      "a required tool that is left out",
      { model: LOCAL, mcp: { f: { command: "x" } }, tools: ["a"], required_tools: ["b"] },
      "agent.required_tools",
    ],
    ["approvals of a strange kind", { model: LOCAL, approvals: "sometimes" }, "agent.approvals"],
  ])("with %s are refused, naming the field", (_what, json, field) => {
    expect(() => parseAgentSettings(json)).toThrow(
      expect.objectContaining({ reason: ErrorReason.VALIDATION_ERROR, message: expect.stringContaining(field) }),
    );
  });

  test("names in snake_case become the settings' own, headers and variables stay as they are", () => {
    const parsed = parseAgentSettings({
      model: { ...LOCAL, api_key_env: "KEY", headers: { x_team: "a" } },
      mcp: { files: { command: "x", env: { MY_VAR: "1" }, inherit_env: ["HOME"] } },
      budgets: { max_model_calls: 3 },
      max_steps: 5,
      output_schema: { type: "object", properties: { some_name: {} } },
    });
    expect(parsed).toEqual({
      models: {
        main: {
          provider: "openai-compatible",
          model: "scripted",
          baseUrl: "http://127.0.0.1:1/v1",
          apiKeyEnv: "KEY",
          headers: { x_team: "a" },
        },
      },
      mcp: { files: { command: "x", env: { MY_VAR: "1" }, inheritEnv: ["HOME"] } },
      budgets: { maxModelCalls: 3 },
      maxSteps: 5,
      outputSchema: { type: "object", properties: { some_name: {} } },
    });
  });
});

describe("an agent without code", () => {
  test("reads without asking, asks before it writes, and does what was approved", async () => {
    const live = await open(settings());
    const path = join(dir, "a.txt");
    const script = [
      `write it\n@model tool fs_list_directory ${JSON.stringify({ path: dir })}`,
      `@model tool fs_write_file ${JSON.stringify({ path, content: "approved" })}`,
      "@model text done",
    ];
    const run = await live.start("helper", script.join("\n"));
    const action = await run.action();
    expect(action).toMatchObject({
      title: "Allow fs_write_file?",
      payload: { tool: "fs_write_file", arguments: { path } },
    });
    expect(run.all("toolCallCompleted").map(({ name }) => name)).toEqual(["fs_list_directory"]);
    await run.respond(action, { approved: true });
    expect(await run.end()).toMatchObject({ state: ExecutionState.SUCCEEDED, finalOutput: "done" });
    expect(await readFile(path, "utf8")).toBe("approved");
  });

  test("hears that a call was denied, and is held to its budgets", async () => {
    const live = await open(settings({ budgets: { max_model_calls: 2 } }));
    const call = `@model tool fs_write_file ${JSON.stringify({ path: join(dir, "b.txt"), content: "x" })}`;
    const run = await live.start("helper", `write\n${call}\n@model tool fs_list_directory {}\n@model text never`);
    await run.respond(await run.action(), { approved: false });
    const ended = await run.end();
    expect(ended.state).toBe(ExecutionState.FAILED);
    expect(ended.error?.message).toBe("all 2 model calls of this run are used");
    expect(run.all("toolCallCompleted")[0]).toMatchObject({ denied: true });
  });

  test("calls only the tools that it is granted", async () => {
    const live = await open(settings({ tools: ["fs_list_directory"], approvals: "none" }));
    const run = await live.start("helper", 'read\n@model tool fs_read_text_file {"path": "x"}');
    expect((await run.end()).finalOutput).toContain("fs_read_text_file is not granted");
  });

  test("is not available where two of its servers have a tool of one name, and says what to do", async () => {
    const files = { command: process.execPath, args: [FILES, dir] };
    const agent = agentProvider(settings({ mcp: { files, copies: files } }), { clock: new ManualClock() });
    const live = await openLiveRuntime({ providers: [agent] });
    onTestFinished(() => live.close());
    expect(agent.availability?.()).toEqual({
      available: false,
      reason: expect.stringMatching(
        /^the MCP servers files and copies both have a tool \w+; give one of them a prefix/,
      ),
    });
  });

  test("lets a critic judge its answer", async () => {
    const main = { ...LOCAL, base_url: `${model.url}/v1` };
    const live = await open(
      settings({
        mcp: {},
        model: main,
        models: { critic: main },
        critic: { criteria: "@model text REVISE: once more", max_revisions: 1 },
      }),
    );
    const run = await live.start("helper", "x\n@model text first");
    const ended = await run.end();
    expect(ended.state).toBe(ExecutionState.SUCCEEDED);
    expect(run.all("completionEvaluated").length).toBe(2);
    expect(ended.turn).toBe(2);
  });

  test("says what is missing while it is not available, and becomes available by itself", async () => {
    const clock = new ManualClock();
    const env: Record<string, string> = {};
    const keyed = settings({ mcp: {}, model: { ...LOCAL, base_url: `${model.url}/v1`, api_key_env: "SOME_KEY" } });
    const live = await open(keyed, { clock, env });
    expect(live.runtime.getProvider("helper")).toMatchObject({
      available: false,
      unavailableReason: expect.stringContaining("set SOME_KEY"),
    });
    await expect(live.start("helper", "x")).rejects.toMatchObject({ reason: ErrorReason.PROVIDER_UNAVAILABLE });
    env["SOME_KEY"] = "sk-1";
    clock.advance(5_000);
    await expect.poll(() => live.runtime.getProvider("helper").available).toBe(true);
    expect((await (await live.start("helper", "x\n@model text hello")).end()).finalOutput).toBe("hello");
  });

  test.each([true, false])("names the address where no model answers, streamed (%s) or not", async (stream) => {
    const live = await open(settings({ mcp: {}, model: { ...LOCAL, max_retries: 0 }, stream }));
    const { error } = await (await live.start("helper", "x")).end();
    expect(error?.message).toMatch(
      /no model answers at base_url http:\/\/127\.0\.0\.1:1\/v1; start it, or set another$/,
    );
  });

  test("names the server that does not answer and the tool that no server has", async () => {
    const missing = await open(settings({ mcp: { files: { command: "/no/such/server" } } }));
    expect(missing.runtime.getProvider("helper").unavailableReason).toMatch(
      /^mcp\.files: .*\/no\/such\/server that may be executed; install it, or set command to its path$/,
    );
    const strange = await open(settings({ tools: ["fs_format_disk"] }));
    expect(strange.runtime.getProvider("helper").unavailableReason).toContain(
      "no MCP server has the tool fs_format_disk",
    );
  });
});
