import type { HarnessAbility } from "../../engine/ability.js";
import { type McpServer, type McpTools, mcpTools } from "../../engine/ai/mcp-tools.js";
import type { Environment } from "./models.js";
import type { McpSettings } from "./settings.js";

/** Connects to a server as its settings say. */
export function connectMcp(settings: McpSettings, env: Environment, signal?: AbortSignal): Promise<McpTools> {
  const options = {
    ...(signal === undefined ? {} : { signal }),
    ...(settings.prefix === undefined ? {} : { prefix: settings.prefix }),
    ...(settings.only === undefined ? {} : { only: settings.only }),
  };
  return mcpTools(toServer(settings, env), options);
}

/** The tools of one server as an ability: each execution has a connection, and a process, of its own. */
export function mcpAbility(name: string, settings: McpSettings, env: Environment): HarnessAbility {
  return {
    name: `mcp-${name}`,
    bind: async ({ signal }) => {
      const { tools, instructions, close } = await connectMcp(settings, env, signal);
      return { tools, prompts: instructions === "" ? [] : [instructions], dispose: close };
    },
  };
}

function toServer(settings: McpSettings, env: Environment): McpServer {
  const { command, url = "", args, cwd, headers } = settings;
  if (command === undefined) return { url, ...(headers === undefined ? {} : { headers }) };
  const inherited = (settings.inheritEnv ?? []).flatMap((name): [string, string][] => {
    const value = env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return {
    command,
    env: { ...Object.fromEntries(inherited), ...settings.env },
    ...(args === undefined ? {} : { args }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}
