import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { messageOf } from "../errors.js";
import type { ScopedResource } from "../resource.js";
import type { ToolDef, ToolEffect } from "../tool.js";

/** A Model Context Protocol server: a process of ours that speaks on stdin and stdout, or an address. */
export type McpServer = McpCommand | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };

/** A Model Context Protocol server that is a program. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that every process needs (PATH, HOME, …); nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the working directory. */
  readonly cwd?: string;
}

export interface McpOptions {
  /** Put before each tool's name, such as `files_`. Default: none. */
  readonly prefix?: string;
  /** Only these tools, by the server's own names. Default: all. */
  readonly only?: readonly string[];
  /** Milliseconds that connecting, and each call, may take. Default 30,000 to connect and 120,000 a call. */
  readonly connectTimeoutMs?: number;
  readonly callTimeoutMs?: number;
  /** Ends the connecting, while it goes on. */
  readonly signal?: AbortSignal;
  /** Makes the transport to a server that is a program. Default: the SDK's, a child of this process. */
  readonly openProcess?: (server: McpCommand) => Transport;
}

/** A connection to one server. */
export interface McpTools {
  readonly tools: readonly ToolDef[];
  /** What the server says of itself for the model; empty where it says nothing. */
  readonly instructions: string;
  /** Ends the connection, and the process where there is one. Idempotent. */
  close(): Promise<void>;
}

const CLIENT = { name: "harness-runtime", version: "1" };
const PAGES = 100;

/**
 * Connects to an MCP server and returns its tools. A tool that the server calls
 * read-only has the effect `read`, one that it calls open-world `external`, any
 * other `write`; these are the server's own words, so grant what you trust.
 * Rejects where the server cannot be reached; nothing is left running then.
 */
export async function mcpTools(server: McpServer, options: McpOptions = {}): Promise<McpTools> {
  const sdk = await import("@modelcontextprotocol/sdk/client/index.js");
  const client = new sdk.Client(CLIENT);
  try {
    const transport = await openTransport(server, options);
    const { signal, connectTimeoutMs: timeout = 30_000 } = options;
    const request = { timeout, ...(signal === undefined ? {} : { signal }) };
    await client.connect(transport, request);
    const listed = await listTools(client, request);
    const wanted = options.only === undefined ? listed : pick(listed, options.only);
    return {
      tools: wanted.map((tool) => toTool(client, tool, options)),
      instructions: client.getInstructions() ?? "",
      close: () => client.close(),
    };
  } catch (error) {
    await client.close().catch(() => {});
    throw new Error(`the MCP server ${nameOf(server)} gives no tools: ${messageOf(error)}`, { cause: error });
  }
}

/** The same as a resource, for `services.resource`: closed with its scope. */
export async function mcpResource(server: McpServer, options: McpOptions = {}): Promise<ScopedResource<McpTools>> {
  const connection = await mcpTools(server, options);
  return { value: connection, ownership: "runtime", dispose: () => connection.close() };
}

async function openTransport(server: McpServer, { openProcess }: McpOptions): Promise<Transport> {
  if ("url" in server) {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const options = server.headers === undefined ? {} : { requestInit: { headers: { ...server.headers } } };
    // The SDK's class says `sessionId: string | undefined` where its interface says `sessionId?: string`.
    return new StreamableHTTPClientTransport(new URL(server.url), options) as Transport;
  }
  if (openProcess !== undefined) return openProcess(server);
  const { getDefaultEnvironment, StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  return new StdioClientTransport({
    command: server.command,
    args: [...(server.args ?? [])],
    env: { ...getDefaultEnvironment(), ...server.env },
    stderr: "ignore",
    ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
  });
}

async function listTools(client: Client, request: RequestOptions): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const listed = await client.listTools(cursor === undefined ? {} : { cursor }, request);
    tools.push(...listed.tools);
    cursor = listed.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`it lists more than ${PAGES} pages of tools`);
}

function pick(listed: readonly Tool[], only: readonly string[]): readonly Tool[] {
  return only.map((name) => {
    const tool = listed.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`it has no tool ${JSON.stringify(name)}`);
    return tool;
  });
}

function toTool(client: Client, tool: Tool, { prefix = "", callTimeoutMs = 120_000 }: McpOptions): ToolDef {
  return {
    name: `${prefix}${tool.name}`,
    description: tool.description ?? tool.title ?? tool.name,
    parameters: tool.inputSchema,
    effect: toEffect(tool.annotations),
    execute: async (args, { signal }) => {
      const request = { name: tool.name, arguments: args };
      const options = { signal, timeout: callTimeoutMs, resetTimeoutOnProgress: true };
      return toValue((await client.callTool(request, undefined, options)) as CallToolResult);
    },
  };
}

function toEffect(annotations: Tool["annotations"]): ToolEffect {
  if (annotations?.readOnlyHint === true) return "read";
  return annotations?.openWorldHint === true ? "external" : "write";
}

/** The result of a call: its structured content, its text, or its parts. Throws where the server calls it an error. */
function toValue(result: CallToolResult): unknown {
  const texts = result.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (result.isError === true) throw new Error(texts.join("\n") || "the tool failed and does not say why");
  if (result.structuredContent !== undefined) return result.structuredContent;
  return texts.length === result.content.length ? texts.join("\n") : result.content;
}

function nameOf(server: McpServer): string {
  return "url" in server ? new URL(server.url).origin : server.command;
}
