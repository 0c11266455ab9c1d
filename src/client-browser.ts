/** `harness-runtime/client` in browsers: follows and commands the executions of a runtime, wherever it is. */
export type { OnAction } from "./client/action-desk.js";
export { type Attachment, type AttachOptions, type AttachTarget, attach } from "./client/attach.js";
export { type BrowserClientOptions, createHarnessClient } from "./client/browser.js";
export { createClientFor, type HarnessClient, type HarnessClientOptions } from "./client/client.js";
export { isTerminal } from "./client/cursor.js";
export { ContiguityError, type FieldViolation, HarnessRpcError, isRetryable, reasonOf } from "./client/errors.js";
export { eventTypeOf } from "./client/event-type.js";
export { type FollowFrame, type FollowOptions, followEvents, followFrames } from "./client/follow.js";
export { type ActionAnswer, type ActionName, respond } from "./client/respond.js";
export type { FollowRetry, RetryPolicy } from "./client/retry.js";
export { followToEnd, type RunHandlers, runToEnd } from "./client/run.js";
export type { ClientSettings, ClientSettingsInit } from "./client/settings.js";
