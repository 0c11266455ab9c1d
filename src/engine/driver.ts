import type { HarnessBudgets } from "./budgets.js";
import type { HarnessGrants } from "./grants.js";
import type { HarnessIdentity, HarnessSendMode, RunMode } from "./identity.js";
import type { MessageContent } from "./message.js";
import type { HarnessDriverOutput } from "./result.js";
import type { HarnessExecutionServices } from "./services.js";

/**
 * What drives one turn: an agent loop, a workflow, any code. Driver code is
 * trusted; the services that it is given enforce every limit on what goes through them.
 */
export interface ExecutionDriver {
  /** Also the provider's id when the driver is served: letters, digits, `.`, `_` and `-`. */
  id: string;
  /** An integer from 1. */
  version: number;
  capabilities: {
    controls: readonly HarnessSendMode[];
    /** True where a run survives the process; needs {@link ExecutionDriver.resume} and a durable store. */
    durable: boolean;
    policyCoverage: "local" | "remote" | "none";
    /** True only when each model/tool operation uses provided execution services. */
    controlledExecution: boolean;
  };
  /** Runs one turn. Throwing fails the run. */
  start: (request: HarnessRunRequest, services: HarnessExecutionServices) => Promise<HarnessDriverOutput>;
  /**
   * True where an aborted turn ends soon and the driver may be started again with
   * another input; `replace` needs it. Default false.
   */
  interruptible?: boolean;
  /** Drivers that this one starts runs of, by name; each is a provider of its own beside it. */
  members?: Readonly<Record<string, TeamMember>>;
  /**
   * Goes on with the turn that the run was in when its process crashed, of which
   * nothing may have been done yet; `start` is not called for it. Later turns are
   * started as any other.
   */
  resume?: (
    request: HarnessRunRequest,
    services: HarnessExecutionServices,
    resumed: DriverResume,
  ) => Promise<HarnessDriverOutput>;
}

/** A driver that a team runs, and what it may use: at most what the team's own run is granted. */
export interface TeamMember {
  readonly driver: ExecutionDriver;
  /** Default: nothing. */
  readonly grants?: HarnessGrants;
  readonly budgets?: HarnessBudgets;
}

/** What a resumed driver is told of the time before the crash. */
export interface DriverResume {
  /**
   * What `saveResumeState` was last given and the store kept, in this turn or in an
   * earlier one of the run; unset where nothing was.
   */
  readonly state?: Uint8Array;
  /** Answers of approvals and questions that may or may not have been applied: they must not be applied again. */
  readonly uncertainAnswers: readonly { readonly key: string; readonly approved: boolean }[];
}

/** One turn, as its driver sees it. */
export interface HarnessRunRequest {
  input: MessageContent;
  identity: HarnessIdentity;
  sessionId: string;
  runId: string;
  /** From `1`; another only after a crash. */
  attemptId: string;
  parentRunId?: string;
  rootRunId: string;
  /** The turn of the run, from 1: the same in every attempt at it. */
  turn?: number;
  /** Which call of the driver in this turn, from 1. More: the driver returned without a steer that it had been handed, which is the input now. */
  entry?: number;
  /** Aborted when the turn must end. */
  signal: AbortSignal;
  /** Milliseconds since 1970-01-01 UTC. */
  deadline?: number;
  grants: HarnessGrants;
  runMode: RunMode;
}
