import type { McpServer } from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import type { FieldViolation } from "../../core/errors.js";
import type { AgentInfo } from "./agent-info.js";
import { agentError } from "./failure.js";

/** An MCP server: a program (`command`), or an address (`url`). */
export interface McpServerSettings {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  /** Sent with every request to `url`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How `url` is spoken to. Default `http`. */
  readonly type?: "http" | "sse";
}

/** Which MCP servers an execution may give to its agent. */
export interface McpSettings {
  /** Servers that an execution names. */
  readonly servers: Readonly<Record<string, McpServerSettings>>;
  /** Programs that an execution may define servers with, exactly as they are written there. */
  readonly allowCommands: readonly string[];
  /** Origins, such as `https://mcp.example.com`, at which an execution may define servers. */
  readonly allowOrigins: readonly string[];
}

/** Returns what is not allowed in an execution's `mcp_servers`; paths are relative to the config. */
export function checkMcpServers(config: JsonObject, settings: McpSettings): FieldViolation[] {
  return Object.entries(serversOf(config)).flatMap(([name, server]) => {
    const wrong = refusal(name, server, settings);
    return wrong === undefined ? [] : [{ field: `mcp_servers.${name}`, description: wrong }];
  });
}

function refusal(name: string, server: true | McpServerSettings, settings: McpSettings): string | undefined {
  if (server === true)
    return Object.hasOwn(settings.servers, name) ? undefined : `the provider has no MCP server ${name}`;
  const { command, url = "" } = server;
  const [list, allowed, wanted] =
    command === undefined
      ? ["allow_origins", settings.allowOrigins, URL.canParse(url) ? new URL(url).origin : url]
      : ["allow_commands", settings.allowCommands, command];
  return allowed.includes(wanted) ? undefined : `the provider's mcp.${list} does not have ${JSON.stringify(wanted)}`;
}

/** Returns the servers in the protocol's form. Throws where the agent cannot speak to one of them. */
export function toMcpServers(config: JsonObject, settings: McpSettings, info: AgentInfo): McpServer[] {
  return Object.entries(serversOf(config)).map(([name, server]) =>
    toMcpServer(name, server === true ? (settings.servers[name] ?? {}) : server, info),
  );
}

function toMcpServer(
  name: string,
  { command = "", args = [], env, url, headers, type = "http" }: McpServerSettings,
  info: AgentInfo,
): McpServer {
  if (url === undefined) return { name, command, args: [...args], env: pairs(env) };
  if (type === "http" ? info.mcpHttp : info.mcpSse) return { type, name, url, headers: pairs(headers) };
  throw agentError("input_unsupported", `the agent cannot use the MCP server ${name}: it does not speak ${type}`);
}

function serversOf(config: JsonObject): Readonly<Record<string, true | McpServerSettings>> {
  return (config["mcp_servers"] ?? {}) as unknown as Record<string, true | McpServerSettings>;
}

function pairs(values: Readonly<Record<string, string>> = {}): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
