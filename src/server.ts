/** `harness-runtime/server`: opens a runtime on a store, and serves it. */
export type { Clock } from "./core/clock.js";
export type { Ids } from "./core/ids.js";
export { openRuntime } from "./core/open-runtime.js";
export type { Log, Provider } from "./core/provider.js";
export type { Caller, RetentionRule, Runtime, RuntimeLimits, RuntimeOptions } from "./core/runtime.js";
export type { Store } from "./core/store.js";
export { type ScriptedSettings, scriptedProvider } from "./providers/scripted/scripted.js";
export type { WebPages } from "./server/adapter.js";
export { type Authenticator, type Credentials, type Identity, SCOPES, type Scope } from "./server/auth.js";
export { callerOf } from "./server/call.js";
export { DEFAULT_LIMITS, type ServerLimits } from "./server/limits.js";
export type { NodeRequest, NodeResponse, TlsOptions } from "./server/listener.js";
export type { AnyService, ExtraService } from "./server/rpc.js";
export type { MethodScope } from "./server/scopes.js";
export { type RunningServer, type ServerOptions, startServer } from "./server/server.js";
export { type NewToken, openTokens, type Token, type Tokens } from "./server/tokens.js";
export { openMemoryStore } from "./store/memory.js";
export { openSqliteStore, type SqliteStoreOptions, type SqliteTuning } from "./store/sqlite.js";
