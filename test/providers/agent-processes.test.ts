import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { agentProvider } from "../../src/providers/agent/provider.js";
import { parseAgentSettings } from "../../src/providers/agent/settings.js";
import { ManualClock } from "../engine/fixtures.js";
import { openLiveRuntime } from "../support/live-runtime.js";
import { processesWith, until } from "../support/processes.js";
import { firstLine, runSource, SOURCE_ENV, sourceArgs } from "../support/run-source.js";
import { type ScriptedModel, startScriptedModel } from "../support/scripted-model/server.js";

const SERVER = new URL("../support/stubborn-mcp-server.ts", import.meta.url);
const INPUT = "@model slow 1000 10000";
let model: ScriptedModel;
let dataDir = "";
let token = "";

beforeEach(async () => {
  model = await startScriptedModel();
  dataDir = await mkdtemp(join(tmpdir(), "agent-processes-"));
  token = `${randomInt(100_000, 999_999)}.${randomInt(100_000, 999_999)}`;
});

afterEach(async () => {
  const left = await servers();
  for (const pid of left) process.kill(Number(pid), "SIGKILL");
  await model.close();
  await rm(dataDir, { recursive: true });
  expect(left).toEqual([]);
});

/** The server and its child. */
const servers = (): Promise<string[]> => processesWith(`\0${token}\0`);

const settings = () => ({
  id: "helper",
  model: { provider: "openai-compatible", model: "scripted", base_url: `${model.url}/v1`, max_retries: 0 },
  mcp: { stubborn: { command: process.execPath, args: sourceArgs(SERVER, token), env: { ...SOURCE_ENV } } },
});

test("C05 nothing of an agent's MCP servers is left when its execution is cancelled, nor of those that were asked once", async () => {
  const agent = agentProvider(parseAgentSettings(settings()), { clock: new ManualClock() });
  const live = await openLiveRuntime({ providers: [agent], dataDir });
  expect(await servers()).toEqual([]);
  const run = await live.start("helper", INPUT);
  await run.until("text", () => run.text() !== "");
  expect(await servers()).toHaveLength(2);
  await run.cancel();
  expect(await run.end()).toMatchObject({ state: ExecutionState.CANCELLED });
  expect(run.all("runCancelled")).toMatchObject([{ cleanupError: "" }]);
  expect(await servers()).toEqual([]);
  await live.close();
});

test("C05 nothing of an agent's MCP servers is left when the runtime is killed", async () => {
  const runtime = runSource(new URL("./agent-runtime.ts", import.meta.url), [
    JSON.stringify(settings()),
    dataDir,
    INPUT,
  ]);
  onTestFinished(() => void runtime.kill("SIGKILL"));
  await firstLine(runtime);
  expect(await servers()).toHaveLength(2);
  runtime.kill("SIGKILL");
  await until("the watchdog ends them", async () => (await servers()).length === 0);
});
