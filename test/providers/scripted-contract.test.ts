import { SCRIPTED_SITUATIONS } from "../../src/providers/conformance/situation.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { openLiveRuntime } from "../support/live-runtime.js";
import { testProviderContract } from "./contract.js";

testProviderContract("scripted", async () => {
  const { runtime, close } = await openLiveRuntime({ providers: [scriptedProvider({ continuity: true })] });
  return { runtime, close, providerId: "scripted", situations: SCRIPTED_SITUATIONS, limitMs: 15_000 };
}, ["its processes cannot be killed", "its output cannot be made noisy", "no situation for memory"]);
