import { type InitializeRequest, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { type Fields, fieldsOf, listOf, textOf } from "./json.js";
import type { AgentSettings } from "./settings.js";

/** What an agent said of itself. */
export interface AgentInfo {
  readonly name: string;
  readonly version: string;
  readonly loadSession: boolean;
  readonly image: boolean;
  readonly embeddedContext: boolean;
  readonly mcpHttp: boolean;
  readonly mcpSse: boolean;
  /** The ways to log in, by their ids. */
  readonly authMethods: readonly string[];
}

/** Says what the client does for the agent. */
export function initializeRequest({ files, terminals, elicitation }: AgentSettings): InitializeRequest {
  return {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "harness-runtime", version: "1.0.0" },
    clientCapabilities: {
      fs: { readTextFile: files === "read_write", writeTextFile: files !== "none" },
      terminal: terminals,
      ...(elicitation ? { elicitation: { form: {} } } : {}),
    },
  };
}

/** Reads the agent's answer to `initialize`; what it leaves out it cannot do. */
export function readInfo(answer: Fields): AgentInfo {
  const capabilities = fieldsOf(answer["agentCapabilities"]);
  const prompt = fieldsOf(capabilities["promptCapabilities"]);
  const mcp = fieldsOf(capabilities["mcpCapabilities"]);
  const { name, version } = fieldsOf(answer["agentInfo"]);
  return {
    name: textOf(name) ?? "",
    version: textOf(version) ?? "",
    loadSession: capabilities["loadSession"] === true,
    image: prompt["image"] === true,
    embeddedContext: prompt["embeddedContext"] === true,
    mcpHttp: mcp["http"] === true,
    mcpSse: mcp["sse"] === true,
    authMethods: listOf(answer["authMethods"]).flatMap(({ id }) => textOf(id) ?? []),
  };
}
