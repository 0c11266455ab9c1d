import {
  type CreateElicitationResponse,
  client,
  methods,
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  type RequestPermissionResponse,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import { type Fields, fieldsOf } from "./json.js";
import type { Terminals } from "./terminals.js";

/** What an agent may ask of its client. */
export interface AgentHost {
  update(params: Fields): void;
  requestPermission(params: Fields): Promise<RequestPermissionResponse>;
  elicit(params: Fields): Promise<CreateElicitationResponse>;
  readTextFile(request: ReadTextFileRequest): Promise<ReadTextFileResponse>;
  writeTextFile(request: WriteTextFileRequest): Promise<void>;
  terminals(): Terminals;
  /** A message was dropped, for its length. */
  dropped(method: string | undefined, sizeBytes: number): void;
  /** Resolves when the agent may be read on. Undefined: now. */
  ready(): Promise<void> | undefined;
}

/** Each question of the agent goes to the host. Parsers of our own where the SDK's are stricter than agents are. */
export function createClient(host: AgentHost) {
  return client({ name: "harness-runtime" })
    .onRequest(methods.client.session.requestPermission, fieldsOf, ({ params }) => host.requestPermission(params))
    .onRequest(methods.client.elicitation.create, fieldsOf, ({ params }) => host.elicit(params))
    .onRequest(methods.client.fs.readTextFile, ({ params }) => host.readTextFile(params))
    .onRequest(methods.client.fs.writeTextFile, ({ params }) => host.writeTextFile(params))
    .onRequest(methods.client.terminal.create, async ({ params }) => ({
      terminalId: await host.terminals().create(params),
    }))
    .onRequest(methods.client.terminal.output, ({ params }) => host.terminals().output(params.terminalId))
    .onRequest(methods.client.terminal.waitForExit, ({ params }) => host.terminals().waitForExit(params.terminalId))
    .onRequest(methods.client.terminal.kill, ({ params }) => host.terminals().kill(params.terminalId))
    .onRequest(methods.client.terminal.release, ({ params }) => host.terminals().release(params.terminalId));
}
