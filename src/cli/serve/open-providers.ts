import type { Providers } from "../../../gen/ts/harnessruntime/config/v1/providers_pb.js";
import type { Provider } from "../../core/provider.js";

/** Makes the providers that the configuration names. Throws ConfigError where one's settings are wrong. */
export async function openProviders({ scripted }: Providers): Promise<readonly Provider[]> {
  const found: Provider[] = [];
  if (scripted?.enabled) {
    const { scriptedProvider } = await import("../../providers/scripted/scripted.js");
    found.push(scriptedProvider({ continuity: scripted.continuity, capacity: scripted.capacity }));
  }
  return found;
}
