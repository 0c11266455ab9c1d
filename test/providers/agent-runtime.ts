// A process that stands for a runtime: runs an execution of the agent whose settings it is given, until it is killed.
import { agentProvider } from "../../src/providers/agent/provider.js";
import { parseAgentSettings } from "../../src/providers/agent/settings.js";
import { openLiveRuntime } from "../support/live-runtime.js";

const [settings = "{}", dataDir = "", input = ""] = process.argv.slice(2);
const agent = agentProvider(parseAgentSettings(JSON.parse(settings)));
const { start, runtime } = await openLiveRuntime({ providers: [agent], dataDir });
while (!runtime.getProvider("helper").available) await new Promise((resolve) => setTimeout(resolve, 50));
const run = await start("helper", input);
await run.until("text", () => run.text() !== "");
process.stdout.write("at work\n");
