import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { ActionService } from "../../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ConversationService } from "../../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ExecutionService } from "../../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { RuntimeService } from "../../../gen/ts/harnessruntime/v1/runtime_service_pb.js";

/** A server that the suite tries, over one transport. It has the provider `scripted`, without continuity. */
export interface Target {
  /** Whether the transport can carry AttachExecution. */
  readonly bidi: boolean;
  /** Returns a transport whose calls come from the user `ann` of this tenant. */
  connect(tenantId: string): Transport;
  close(): Promise<void>;
}

export type OpenTarget = () => Promise<Target>;

/** A client of each service. */
export interface Clients {
  readonly executions: Client<typeof ExecutionService>;
  readonly actions: Client<typeof ActionService>;
  readonly conversations: Client<typeof ConversationService>;
  readonly runtime: Client<typeof RuntimeService>;
}

export function createClients(transport: Transport): Clients {
  return {
    executions: createClient(ExecutionService, transport),
    actions: createClient(ActionService, transport),
    conversations: createClient(ConversationService, transport),
    runtime: createClient(RuntimeService, transport),
  };
}
