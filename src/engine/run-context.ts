import type { HarnessIdentity, RunMode } from "./identity.js";
import type { ExecutionServices } from "./services.js";

/** What a tool, a policy or a model call knows of its run. Identity and mode cannot be changed. */
export interface RunContext {
  readonly runId: string;
  readonly sessionId: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly runMode: RunMode;
  /** Aborted when the turn must end. */
  readonly signal: AbortSignal;
  /** The session's own data, shared by the whole run and stored when it succeeds. JSON values only. */
  readonly state: Record<string, unknown>;
  readonly metadata: RunMetadata;
  /** The governed operations, for tools that call models or tools themselves. */
  readonly executionServices?: ExecutionServices;
}

/** Where a run stands among others. */
export interface RunMetadata {
  readonly parentRunId?: string;
  /** The run's own id when it has no parent. */
  readonly rootRunId: string;
}

/** What a {@link RunContext} is made of. */
export interface RunContextParts {
  readonly runId: string;
  readonly sessionId: string;
  readonly identity: HarnessIdentity;
  readonly runMode: RunMode;
  readonly signal: AbortSignal;
  readonly state: Record<string, unknown>;
  readonly parentRunId?: string;
  readonly rootRunId: string;
  /** Read when `executionServices` is. */
  readonly services?: () => ExecutionServices;
}

/** Makes the context of one turn: frozen, but for what is in `state`. */
export function createRunContext(parts: RunContextParts): RunContext {
  const { services } = parts;
  const metadata: RunMetadata = Object.freeze({
    ...(parts.parentRunId === undefined ? {} : { parentRunId: parts.parentRunId }),
    rootRunId: parts.rootRunId,
  });
  const context = {
    runId: parts.runId,
    sessionId: parts.sessionId,
    tenantId: parts.identity.tenantId,
    userId: parts.identity.userId,
    runMode: parts.runMode,
    signal: parts.signal,
    state: parts.state,
    metadata,
  };
  if (services === undefined) return Object.freeze(context);
  Object.defineProperty(context, "executionServices", { get: services, enumerable: false });
  return Object.freeze(context);
}
