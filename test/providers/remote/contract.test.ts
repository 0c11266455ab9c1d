import { connectProvider, defineProvider } from "../../../src/provider.js";
import { SCRIPTED_SITUATIONS } from "../../../src/providers/conformance/situation.js";
import { openRemoteProviders } from "../../../src/providers/remote/remote-providers.js";
import { scriptedProvider } from "../../../src/providers/scripted/scripted.js";
import { openLiveRuntime } from "../../support/live-runtime.js";
import { testProviderContract } from "../contract.js";
import { Wire } from "./wire.js";

/** The scripted provider keeps what an embedded one does, also from the other end of a stream. */
testProviderContract("scripted, from its own side of a stream", async () => {
  const remote = await openRemoteProviders({ cancelTimeoutMs: 2_000 });
  const live = await openLiveRuntime({ providers: [] });
  const wire = new Wire(remote.serve(live.runtime));
  const provider = defineProvider(scriptedProvider({ continuity: true }));
  const connection = connectProvider(provider, { url: "", dial: wire.dial });
  await connection.registered;
  return {
    runtime: live.runtime,
    providerId: "scripted",
    situations: SCRIPTED_SITUATIONS,
    limitMs: 15_000,
    async close() {
      await connection.close();
      await live.close();
    },
  };
}, ["its processes cannot be killed", "its output cannot be made noisy", "no situation for memory"]);
