import { setTimeout as sleep } from "node:timers/promises";
import { driverProvider, type HarnessExecutionServices, type HarnessRunRequest } from "../../src/engine.js";
import type { Situations } from "../../src/providers/conformance/situation.js";
import { testProviderContract } from "../providers/contract.js";
import { openLiveRuntime } from "../support/live-runtime.js";
import { driver, type Script, tool } from "./fixtures.js";

/** What a turn does, by the first word of its input. */
const SCENES: Readonly<Record<string, Script>> = {
  async long(services, { signal }) {
    for (let count = 0; count < 10_000; count++) {
      services.emit({ type: "output.text.delta", text: "word " });
      await sleep(20, undefined, { signal });
    }
    return "";
  },
  async approval(services) {
    services.emit({ type: "output.text.delta", text: "first " });
    const { denial } = await services.dispatch({ id: "c1", name: "deploy", arguments: { to: "production" } });
    return denial ?? "deployed";
  },
  input: () => ({ status: "awaiting_input", text: "Which one?" }),
  async steer(services, { signal }) {
    services.emit({ type: "output.text.delta", text: "waiting " });
    while (services.takeInput() === undefined) await sleep(1, undefined, { signal });
    return "steered";
  },
  artifact: (services) => ({ text: "made", artifacts: [{ id: services.putArtifact({ rows: 3 }) }] }),
  recall: (services) => JSON.stringify(services.history),
};

const DRIVER = driver(async (services: HarnessExecutionServices, request: HarnessRunRequest) => {
  const scene = SCENES[String(request.input).split(" ")[0] ?? ""];
  if (scene !== undefined) return await scene(services, request);
  for (const text of ["a few ", "words"]) services.emit({ type: "output.text.delta", text });
  return "a few words";
});

const SITUATIONS: Situations = {
  text: { input: "say a few words" },
  long: { input: "long" },
  approval: { input: "approval" },
  input: { input: "input" },
  steer: { input: "steer" },
  artifact: { input: "artifact" },
  memory: { tell: { input: "the word is swordfish" }, ask: { input: "recall" }, answer: "swordfish" },
};

testProviderContract("a driver", async () => {
  const provider = driverProvider(DRIVER, {
    providerId: "driver",
    tools: [tool("deploy", { effect: "external", requiresApproval: true })],
    grants: { toolIds: ["deploy"], modelRoles: [] },
  });
  const { runtime, close } = await openLiveRuntime({ providers: [provider] });
  return { runtime, close, providerId: "driver", situations: SITUATIONS, limitMs: 15_000 };
}, ["its processes cannot be killed", "its output cannot be made noisy"]);
