// A runtime in a process of its own, which a test kills: starts one execution of a real agent and lives on.
import { join } from "node:path";
import { acpProvider } from "../../src/providers/acp/provider.js";
import { openLiveRuntime } from "../support/live-runtime.js";
import { type AgentName, settle } from "./real-agent.js";

const [agent = "", root = "", modelUrl = "", prompt = ""] = process.argv.slice(2);
const provider = acpProvider(await settle(agent as AgentName, root, modelUrl));
const live = await openLiveRuntime({ providers: [provider], dataDir: join(root, "data") });
const run = await live.start(agent, prompt);
for (let asked = 1; ; asked++) {
  const action = await run.action(asked, 300_000);
  await run.respond(action, { approved: true });
  process.stdout.write("approved\n");
}
