import type { JsonObject } from "@bufbuild/protobuf";
import type { Providers } from "../../../gen/ts/harnessruntime/config/v1/providers_pb.js";
import { messageOf } from "../../core/message-of.js";
import type { Provider } from "../../core/provider.js";
import { ConfigError } from "../config/config-error.js";
import type { ReadConfig } from "../config/read-config.js";
import { mustHave } from "../config/sections.js";

/** Makes the providers that the configuration names. Throws ConfigError where the settings of one are wrong. */
export async function openProviders({ config, settings, folder }: ReadConfig): Promise<readonly Provider[]> {
  const providers = mustHave(config.providers);
  const at = (kind: string, id: string): string => {
    const path = ["providers", kind, id].join("\n");
    return settings.find((setting) => setting.path.join("\n") === path)?.where ?? "configuration";
  };
  refuseTwice(providers, at);
  return [
    ...(await scripted(providers)),
    ...(await acpAgents(providers, at)),
    ...(await agents(providers, at)),
    ...(await drivers(providers, folder, at)),
  ];
}

/** Makes an agent of the configuration once more, with noise in its output; undefined for a provider of another kind. */
export async function openNoisyProvider(
  { config }: ReadConfig,
  id: string,
  noisyId: string,
): Promise<Provider | undefined> {
  const { acp, acpPresets } = mustHave(config.providers);
  const { PRESETS } = await import("../../providers/acp/presets.js");
  const json = acp[id] ?? (acpPresets && Object.hasOwn(PRESETS, id) ? { agent: id } : undefined);
  if (json === undefined) return undefined;
  const { withNoise } = await import("../../providers/acp/noise.js");
  const { acpProvider } = await import("../../providers/acp/provider.js");
  const { parseAcpSettings } = await import("../../providers/acp/settings.js");
  return acpProvider(withNoise(parseAcpSettings(json), noisyId));
}

/** A provider's id is the key of its settings, whatever its kind. */
function refuseTwice({ scripted: own, acp, agent, driver }: Providers, whereOf: Where): void {
  const taken = new Set(own?.enabled ? ["scripted"] : []);
  for (const [kind, map] of Object.entries({ acp, agent, driver })) {
    const ids = Object.keys(map);
    const twice = ids.find((id) => taken.has(id));
    if (twice !== undefined) {
      throw new ConfigError(
        `${whereOf(kind, twice)}: providers.${kind}.${twice}: another provider has this id; choose another`,
      );
    }
    for (const id of ids) taken.add(id);
  }
}

/** Says where the settings of a provider were set. */
type Where = (kind: string, id: string) => string;

async function scripted({ scripted: settings }: Providers): Promise<readonly Provider[]> {
  if (!settings?.enabled) return [];
  const { scriptedProvider } = await import("../../providers/scripted/scripted.js");
  return [scriptedProvider({ continuity: settings.continuity, capacity: settings.capacity })];
}

async function acpAgents({ acp, acpPresets }: Providers, whereOf: Where): Promise<readonly Provider[]> {
  if (!acpPresets && Object.keys(acp).length === 0) return [];
  const { PRESETS } = await import("../../providers/acp/presets.js");
  const { acpProvider } = await import("../../providers/acp/provider.js");
  const { parseAcpSettings } = await import("../../providers/acp/settings.js");
  const presets = acpPresets ? Object.keys(PRESETS).map((id) => [id, { agent: id }] as const) : [];
  const named = new Map<string, JsonObject>([...presets, ...Object.entries(acp)]);
  return [...named].map(([id, json]) => {
    return acpProvider(
      readSettings(whereOf("acp", id), `providers.acp.${id}`, () => parseAcpSettings({ ...json, id })),
    );
  });
}

async function agents({ agent }: Providers, whereOf: Where): Promise<readonly Provider[]> {
  if (Object.keys(agent).length === 0) return [];
  const { agentProvider } = await import("../../providers/agent/provider.js");
  const { parseAgentSettings } = await import("../../providers/agent/settings.js");
  return Object.entries(agent).map(([id, json]) => {
    return agentProvider(
      readSettings(whereOf("agent", id), `providers.agent.${id}`, () => parseAgentSettings({ ...json, id })),
    );
  });
}

async function drivers({ driver }: Providers, folder: string, whereOf: Where): Promise<readonly Provider[]> {
  if (Object.keys(driver).length === 0) return [];
  const { openDriverModule } = await import("./driver-module.js");
  const opening = Object.entries(driver).map(async ([id, settings]) => {
    try {
      return await openDriverModule(id, settings, folder);
    } catch (error) {
      throw new ConfigError(`${whereOf("driver", id)}: providers.driver.${id}: ${messageOf(error)}`);
    }
  });
  return await Promise.all(opening);
}

/** Reads a provider's own settings; what is wrong with them is told as for any other key. */
function readSettings<T>(where: string, key: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new ConfigError(`${where}: ${key}: ${messageOf(error)}`);
  }
}
