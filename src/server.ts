export type { WebPages } from "./server/adapter.js";
export { type Authenticator, type Credentials, type Identity, SCOPES, type Scope } from "./server/auth.js";
export { callerOf } from "./server/call.js";
export { DEFAULT_LIMITS, type ServerLimits } from "./server/limits.js";
export type { NodeRequest, NodeResponse, TlsOptions } from "./server/listener.js";
export type { AnyService, ExtraService } from "./server/rpc.js";
export type { MethodScope } from "./server/scopes.js";
export { type RunningServer, type ServerOptions, startServer } from "./server/server.js";
export { type NewToken, openTokens, type Token, type Tokens } from "./server/tokens.js";
