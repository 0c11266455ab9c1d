import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agentProvider } from "../../src/providers/agent/provider.js";
import { parseAgentSettings } from "../../src/providers/agent/settings.js";
import { ManualClock } from "../engine/fixtures.js";
import { openLiveRuntime } from "../support/live-runtime.js";
import { startScriptedModel } from "../support/scripted-model/server.js";
import { testProviderContract } from "./contract.js";

const require = createRequire(import.meta.url);
const FILES = join(dirname(require.resolve("@modelcontextprotocol/server-filesystem/package.json")), "dist/index.js");

const script = (...turns: readonly string[]) => ({ input: turns.map((turn) => `@model ${turn}`).join("\n") });

testProviderContract("agent", async () => {
  const model = await startScriptedModel();
  const folder = await mkdtemp(join(tmpdir(), "agent-contract-"));
  const settings = parseAgentSettings({
    id: "agent",
    model: { provider: "openai-compatible", model: "scripted", base_url: `${model.url}/v1`, max_retries: 0 },
    mcp: { files: { command: process.execPath, args: [FILES, folder] } },
  });
  // A clock that stands still: the runtime waits for the agent however long its server takes.
  const agent = agentProvider(settings, { clock: new ManualClock() });
  const { runtime, close } = await openLiveRuntime({ providers: [agent] });
  const write = `tool write_file ${JSON.stringify({ path: join(folder, "a.txt"), content: "approved" })}`;
  return {
    runtime,
    providerId: "agent",
    situations: {
      text: script("text a few words"),
      long: script("slow 20 10000"),
      approval: script(write, "text done"),
      steer: script("slow 20 100", "text steered"),
      // The second turn of the first execution's script is played only where the model is shown that execution.
      memory: { tell: script("text ok", "text swordfish"), ask: { input: "Which word?" }, answer: "swordfish" },
    },
    limitMs: 20_000,
    async close() {
      await close();
      await model.close();
      await rm(folder, { recursive: true });
    },
  };
}, [
  ...["its processes cannot be killed", "its output cannot be made noisy"],
  ...["no situation for input", "no situation for artifact"],
]);
