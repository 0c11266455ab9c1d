import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import type { ActionKind, ActionOptionSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { ArtifactSchema } from "../../gen/ts/harnessruntime/v1/artifact_pb.js";
import type { ContainmentReportSchema } from "../../gen/ts/harnessruntime/v1/containment_pb.js";
import type { Content } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import type { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Principal } from "../../gen/ts/harnessruntime/v1/principal_pb.js";
import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import type { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import type { UsageSchema } from "../../gen/ts/harnessruntime/v1/usage_pb.js";
import type { FieldViolation } from "./errors.js";
import type { Runtime } from "./runtime.js";
import type { HaltCause } from "./turn-aborted.js";

/**
 * What does the work: the port that adapts one harness. The runtime owns the
 * execution (its state, its events, its actions); the provider owns its native
 * session and processes. `test/providers/contract.ts` runs against every one.
 */
export interface Provider {
  readonly manifest: ProviderManifest;
  /** The most executions that run at once; further ones stay QUEUED. Default 64. */
  readonly capacity?: number;
  /** True where the provider itself keeps the request's budgets, as the engine does; then the runtime only counts. */
  readonly enforcesBudgets?: boolean;
  /** Milliseconds that {@link Provider.start} may take before PROVIDER_START_TIMEOUT. Default 60,000. */
  readonly startTimeoutMs?: number;
  /** Milliseconds that {@link Provider.cancel} may take before it is a `cleanup_error`. Default 10,000. */
  readonly cancelTimeoutMs?: number;

  /** Whether it can take executions now; unset means always. A provider that comes and goes calls `changed` from {@link Provider.open}. */
  availability?(): Availability;
  /** Called once, when the provider joins a runtime and before any execution. `changed` asks the runtime to look at queues and availability again. */
  open?(host: ProviderHost): Promise<void>;
  /** Called once, when the runtime closes and no execution of its own is left. */
  close?(): Promise<void>;
  /** What is wrong with a request's config beyond the manifest's `config_schema`; paths are relative to the config. */
  checkConfig?(config: JsonObject): readonly FieldViolation[];
  /** Refuses an execution that could only fail, such as one that asks for more than the host grants, by throwing a HarnessError; nothing is made then. */
  checkStart?(execution: Execution): void;

  /** Begins native work, such as a process, in state STARTING; once per attempt, before the first {@link Provider.run}. */
  start?(context: ProviderContext): Promise<void>;
  /** Runs one turn and returns how it ended. Throwing is PROVIDER_ERROR. */
  run(context: ProviderContext): Promise<TurnOutcome>;
  /**
   * Ends native work, after the signal was aborted; called once, on cancellation, on failure and where
   * this runtime lets go of the execution. `why` is what it ends for, also where the turn was being `replaced`
   * and its signal says that. What it throws is the execution's `cleanup_error`.
   */
  cancel?(context: ProviderContext, reason: string, why: HaltCause): Promise<CleanupReport | undefined>;
  /** Called last, after the terminal event, whatever the outcome. Errors are logged. */
  dispose?(context: ProviderContext): Promise<void>;
  /** After a crash of the runtime: ends what earlier attempts of this execution left behind. */
  recover?(execution: Execution): Promise<CleanupReport | undefined>;
  /**
   * REMOTE only, after a restart of the runtime: waits (at most its grace) for the instance that
   * still runs this very attempt; true where it came back, and then {@link Provider.run} is
   * called with `reattached`. `mark` is the last that was stored in the attempt.
   */
  reattach?(execution: Execution, signal: AbortSignal, mark: number): Promise<boolean>;
}

/** What the runtime offers a provider outside of any execution. */
export interface ProviderHost {
  /** Says that availability, capacity or manifest changed. */
  changed(): void;
  /** The runtime that the provider joined, for one that starts executions or answers actions itself. */
  readonly runtime: Runtime;
  readonly log: Log;
  /** A folder for the provider's own files that lives as long as the runtime's data. */
  readonly dataDir: string;
  /** Whether the runtime's data outlives this process: the executions, their conversations and that folder. */
  readonly durable: boolean;
}

export interface Availability {
  readonly available: boolean;
  /** Why not; empty where available. */
  readonly reason: string;
}

/** A sink for diagnostics. Fields must hold no credentials, prompts or answers. */
export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** The kinds of events that a provider may append, by their case in `Event.payload`. */
export type ProviderEventKind =
  | "outputTextDelta"
  | "outputTextDone"
  | "outputReasoningDelta"
  | "toolCallStarted"
  | "toolCallUpdated"
  | "toolCallCompleted"
  | "planUpdated"
  | "modelCompleted"
  | "providerEvent";

type Payload = NonNullable<MessageInitShape<typeof EventSchema>["payload"]>;

/** One event as a provider emits it: `{ case, value }`. */
export type ProviderEvent = Extract<Payload, { case: ProviderEventKind }>;

/** One turn of one attempt, as its provider sees it. */
export interface ProviderContext {
  /** The execution when the turn began. */
  readonly execution: Execution;
  readonly attempt: number;
  /** From 1. */
  readonly turn: number;
  /** The input of this turn. */
  readonly input: Content;
  /** How often this turn's work was sent back so far: 0 for a new input, 1 for its first revision, which is a turn of its own. Unset: 0. */
  readonly revision?: number;
  /** The request's effective config, after its schema was checked. */
  readonly config: JsonObject;
  /** Aborted when this turn must end; its reason is a `TurnAbortedError`, which says why. */
  readonly signal: AbortSignal;
  /** Set from attempt 2 on, until this attempt's first turn is over. */
  readonly resume: ResumeInfo | undefined;
  /** True where a remote instance goes on with an attempt that never stopped. */
  readonly reattached: boolean;
  readonly log: Log;

  /** Earlier executions of the conversation that succeeded, oldest first, at most the last 100. */
  history(): Promise<readonly HistoryItem[]>;
  /**
   * Appends events in order and resolves once they are stored. Await it: that is
   * the back-pressure. `extra` is stored in the same write. Rejects with EVENT_TOO_LARGE, with STORE_UNAVAILABLE (then nothing of it is
   * stored: emit it again), or with PROVIDER_PROTOCOL_VIOLATION's error, which also fails the execution. An empty delta is not
   * appended, and an `item_id` has at most 200 characters. After the terminal event it does nothing.
   */
  emit(events: ProviderEvent | readonly ProviderEvent[], extra?: EmitExtra): Promise<void>;
  /**
   * Opens an action and resolves with its answer (or its expiry), once. Waits
   * behind an open one, first in first out, at most 64. Rejects when the turn
   * ends first. With a `key` that was asked before it opens nothing new.
   */
  requestAction(request: ActionInit): Promise<ActionAnswer>;
  /** The steers of this turn as they come, stored as consumed before they are handed over; ends with the turn. Leaving the iteration leaves the rest unconsumed. */
  steers(): AsyncIterable<Steer>;
  /** Announces an artifact. `id` must be new in the execution. */
  artifact(descriptor: MessageInitShape<typeof ArtifactSchema>): Promise<void>;
  /** Keeps the provider's opaque state, at most 1 MiB, with the next append that is stored. */
  saveResumeState(state: Uint8Array): void;
  /** A folder of this execution's own, made at the first call and removed at the end. */
  scratchDir(): Promise<string>;
}

/** What goes with emitted events into one write: all of it is stored, or nothing. */
export interface EmitExtra {
  /** A number of the provider's own, such as an outbox position: {@link ResumeInfo} gives the highest one back in the same attempt. */
  readonly mark?: number;
  /** Artifacts that are announced after the events. */
  readonly artifacts?: readonly MessageInitShape<typeof ArtifactSchema>[];
  /** As {@link ProviderContext.saveResumeState} keeps it. */
  readonly resumeState?: Uint8Array;
}

/** An input for the running turn, under its ID. */
export type Steer = Content & { readonly inputId?: string };

/** What a resumed attempt is told of the earlier ones. */
export interface ResumeInfo {
  /** This attempt, from 2; unchanged where {@link ProviderContext.reattached}. */
  readonly attempt: number;
  /** The turn that the execution was in when the attempt before ended; of a context's later turn nothing was begun. */
  readonly turn: number;
  /** The last saved resume state, of that turn or of an earlier one. */
  readonly state: Uint8Array | undefined;
  /** The log's last sequence before this attempt. */
  readonly lastSequence: number;
  /** The highest `mark` that was stored in the attempt before this one, or in this one where it is reattached; 0 where there was none. */
  readonly mark: number;
  /** Every answer of the execution so far. */
  readonly answers: readonly ActionAnswer[];
  /** Steers of this turn that were handed over before, oldest first: whether they were applied is not known. */
  readonly inputs: readonly { readonly inputId: string; readonly content: Content }[];
}

export interface HistoryItem {
  readonly executionId: string;
  readonly role: "user" | "assistant";
  readonly content: Content;
}

export interface ActionInit {
  /** Stable for the same request over attempts; at most 200 characters, unique in the execution. */
  readonly key: string;
  readonly kind: ActionKind.APPROVAL | ActionKind.INPUT;
  readonly title: string;
  readonly description?: string;
  readonly payload?: JsonObject;
  /** The choices of an approval; none means plain approve or deny. */
  readonly options?: readonly MessageInitShape<typeof ActionOptionSchema>[];
  /** A JSON Schema for an input's value. */
  readonly inputSchema?: JsonObject;
  /** The provider's own id for it. */
  readonly providerRef?: string;
  /** Called once, when the action is open and anybody can answer it. */
  readonly onOpen?: (actionId: string) => void;
}

export interface ActionAnswer {
  readonly actionId: string;
  readonly key: string;
  /** For an approval; false where it expired. */
  readonly approved: boolean;
  /** The chosen option's id; empty where none was named. */
  readonly optionId: string;
  /** For an input; unset where it expired. */
  readonly value: JsonValue | undefined;
  readonly metadata: JsonObject | undefined;
  readonly responder: Principal | undefined;
  /** Nobody answered in time. */
  readonly expired: boolean;
  /** It was handed over before, by an attempt that may or may not have applied it: it must not be applied again. */
  readonly delivered: boolean;
}

/** How a turn ended. */
export type TurnOutcome =
  | (Finished & {
      readonly status: "succeeded";
      /** Unset: the text that the turn emitted. */
      readonly finalOutput?: string;
      readonly structuredOutput?: JsonValue;
      /** The completion policy's word, where there is one; unset is ACCEPT without an event. */
      readonly evaluation?: Evaluation;
    })
  | (Finished & {
      readonly status: "failed";
      readonly message: string;
      /** Unset: PROVIDER_ERROR. */
      readonly reason?: FailureReason;
    })
  /** The turn was ended by its signal. Without an abort this is PROVIDER_ERROR. */
  | (Finished & { readonly status: "cancelled" })
  /** Asks for input; the answer begins the next turn. */
  | (Finished & { readonly status: "awaiting_input"; readonly request: Omit<ActionInit, "kind"> });

interface Finished {
  /** The execution's whole usage, where no `model_completed` event reported it. */
  readonly usage?: MessageInitShape<typeof UsageSchema>;
}

export interface Evaluation {
  readonly action: CompletionAction;
  readonly reason: string;
  /** REVISE: the next turn's input. AWAIT_INPUT: the question. */
  readonly instruction?: string;
}

/** What ended native work. */
export interface CleanupReport {
  readonly containment?: MessageInitShape<typeof ContainmentReportSchema>;
  /** What could not be ended or removed; empty or unset where all went well. */
  readonly error?: string;
}
