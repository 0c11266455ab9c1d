import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ConversationService } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import { type ClientSettings, type ClientSettingsInit, toSettings } from "./settings.js";
import { withManners } from "./transport.js";

/**
 * A harness runtime, from afar: the contract's services over one transport.
 *
 * Every failure is a `HarnessRpcError`. Requests that may bear an idempotency
 * key get one, and unary calls that are safe to send twice are tried again.
 */
export interface HarnessClient {
  readonly runtime: Client<typeof RuntimeService>;
  readonly conversations: Client<typeof ConversationService>;
  readonly executions: Client<typeof ExecutionService>;
  readonly actions: Client<typeof ActionService>;
  /** Whether the transport has bidirectional streams: HTTP/2 in Node has, browsers have not. */
  readonly bidi: boolean;
  readonly settings: ClientSettings;
}

/** What {@link HarnessClient} is made from, besides the transport. */
export interface HarnessClientOptions extends ClientSettingsInit {
  /** Where the runtime is, such as `http://127.0.0.1:4310`. A path in it is kept. */
  readonly baseUrl: string;
  /** The bearer token, or what returns it; called for every request. Default: none. */
  readonly token?: string | (() => string | Promise<string>);
  /** Further interceptors, the outermost first. */
  readonly interceptors?: readonly Interceptor[];
}

/** Makes a client of a transport of the caller's own. `bidi` says whether it has bidirectional streams. */
export function createClientFor(transport: Transport, bidi: boolean, init: ClientSettingsInit = {}): HarnessClient {
  const settings = toSettings(init);
  const mannered = withManners(transport, settings);
  return {
    runtime: createClient(RuntimeService, mannered),
    conversations: createClient(ConversationService, mannered),
    executions: createClient(ExecutionService, mannered),
    actions: createClient(ActionService, mannered),
    bidi,
    settings,
  };
}

/** The interceptors that the options ask for, the outermost first. */
export function toInterceptors({ token, interceptors = [] }: HarnessClientOptions): Interceptor[] {
  if (token === undefined) return [...interceptors];
  const authorize: Interceptor = (next) => async (request) => {
    request.header.set("Authorization", `Bearer ${typeof token === "string" ? token : await token()}`);
    return await next(request);
  };
  return [...interceptors, authorize];
}
