import type { HarnessAbility } from "../../engine/ability.js";
import { type McpServer, type McpTools, mcpTools } from "../../engine/ai/mcp-tools.js";
import type { ProcessContainment } from "../containment/containment.js";
import { McpProcess } from "./mcp-process.js";
import type { Environment } from "./models.js";
import type { McpSettings } from "./settings.js";

/** What connections to MCP servers need beside a server's settings. */
export interface McpHost {
  readonly env: Environment;
  /** Holds the servers' processes. */
  readonly containment: ProcessContainment;
}

/** Connects to a server as its settings say, for `label`: an execution's ID. `close` rejects where a process of the server's stays. */
export async function connectMcp(
  settings: McpSettings,
  host: McpHost,
  label: string,
  signal?: AbortSignal,
): Promise<McpTools> {
  let server: McpProcess | undefined;
  const connection = await mcpTools(toServer(settings, host.env), {
    ...(signal === undefined ? {} : { signal }),
    ...(settings.prefix === undefined ? {} : { prefix: settings.prefix }),
    ...(settings.only === undefined ? {} : { only: settings.only }),
    openProcess: (command) => {
      server = new McpProcess(host.containment.createTree(label), command);
      return server;
    },
  });
  return {
    ...connection,
    async close() {
      await connection.close();
      const leftover = await server?.leftover();
      if (leftover !== undefined) throw new Error(leftover);
    },
  };
}

/** The tools of one server as an ability: each execution has a connection, and a process, of its own. */
export function mcpAbility(name: string, settings: McpSettings, host: McpHost): HarnessAbility {
  return {
    name: `mcp-${name}`,
    bind: async ({ runId, signal }) => {
      const { tools, instructions, close } = await connectMcp(settings, host, runId, signal);
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
