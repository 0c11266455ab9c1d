/** `harness-runtime/provider`: write a provider that dials in to a runtime, and connect it. */
export { ActionKind } from "../gen/ts/harnessruntime/v1/action_pb.js";
export { SupportLevel } from "../gen/ts/harnessruntime/v1/provider_pb.js";
export type {
  ActionAnswer,
  ActionInit,
  CleanupReport,
  EmitExtra,
  Evaluation,
  HistoryItem,
  Log,
  ProviderContext,
  ProviderEvent,
  ProviderEventKind,
  ResumeInfo,
  Steer,
  TurnOutcome,
} from "./core/provider.js";
export { ProviderLostError } from "./core/provider-lost.js";
export { type TurnAbortCause, TurnAbortedError } from "./core/turn-aborted.js";
export type { BackoffLimits } from "./provider/backoff.js";
export { type ConnectOptions, connectProvider, type ProviderConnection } from "./provider/connect-provider.js";
export { defineProvider, type ProviderDefinition, type RemoteProvider } from "./provider/define-provider.js";
