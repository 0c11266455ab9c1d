import { type InitializeRequest, methods, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { type Fields, fieldsOf, listOf, textOf } from "./json.js";
import type { AgentSettings } from "./settings.js";

/** What an agent said of itself. */
export interface AgentInfo {
  readonly name: string;
  readonly version: string;
  /** The request with which it goes on with a session of an earlier process; undefined where it cannot. */
  readonly reopenMethod: string | undefined;
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
    reopenMethod: reopenMethodOf(capabilities),
    image: prompt["image"] === true,
    embeddedContext: prompt["embeddedContext"] === true,
    mcpHttp: mcp["http"] === true,
    mcpSse: mcp["sse"] === true,
    authMethods: listOf(answer["authMethods"]).flatMap(({ id }) => textOf(id) ?? []),
  };
}

/** Loading is asked for before resuming: more agents do it, and it fails where the session is gone. */
function reopenMethodOf(capabilities: Fields): string | undefined {
  if (capabilities["loadSession"] === true) return methods.agent.session.load;
  const canResume = typeof fieldsOf(capabilities["sessionCapabilities"])["resume"] === "object";
  return canResume && fieldsOf(capabilities["sessionCapabilities"])["resume"] !== null
    ? methods.agent.session.resume
    : undefined;
}
