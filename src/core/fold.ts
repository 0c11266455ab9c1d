import { clone, create, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { type Execution, ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { type Usage, UsageSchema } from "../../gen/ts/harnessruntime/v1/usage_pb.js";
import type { ExecutionRow, StoredExecution } from "./store.js";

/** An input that was accepted and is neither consumed nor dropped. */
export interface PendingInput {
  readonly inputId: string;
  readonly mode: InputMode;
}

/** What the runtime must know of an execution and its readers need not. */
export interface Inner {
  /** Oldest first. */
  readonly inputs: readonly PendingInput[];
  /** The sequence of the current turn's first event; 0 before the first turn. */
  readonly turnStart: number;
  /** Which input the current turn runs: an input's ID; empty for the execution's own input and for text that the runtime made. */
  readonly turnInput: string;
  /** Whether the open action's answer begins the next turn. */
  readonly answerBeginsTurn: boolean;
  /** Revisions of the current turn so far. */
  readonly revision: number;
  /** The steers that the current turn consumed, oldest first. */
  readonly steers: readonly string[];
  /** The provider's last outbox position in this attempt. */
  readonly mark: number;
  /** Whether an action's time passed under the policy FAIL: the execution fails, also after a restart. */
  readonly actionTimedOut: boolean;
  /** The provider's key for the open action. */
  readonly openKey: string;
  /** What the provider said that the execution had used, after the last turn for which it did; in its JSON form. */
  readonly reportedUsage?: JsonValue;
}

/**
 * An execution as its events made it so far: the state that every decision is
 * made on. Immutable; an event that changes nothing but the head shares all else.
 */
export interface Fold {
  /** All but `last_sequence` and `update_time`, which {@link toExecution} sets. */
  readonly execution: Execution;
  readonly lastSequence: number;
  readonly updateTimeMs: number;
  readonly inner: Inner;
  /** The IDs of all artifacts so far. */
  readonly artifactIds: ReadonlySet<string>;
}

const INNER: Inner = {
  inputs: [],
  turnStart: 0,
  turnInput: "",
  answerBeginsTurn: false,
  revision: 0,
  steers: [],
  mark: 0,
  actionTimedOut: false,
  openKey: "",
};

/** The fold of an execution without any event; `start` is its immutable part. */
export function emptyFold(start: Execution): Fold {
  return { execution: start, lastSequence: 0, updateTimeMs: 0, inner: INNER, artifactIds: new Set() };
}

/** Returns the execution as callers see it. The caller may keep and change it. */
export function toExecution(fold: Fold): Execution {
  return Object.assign(clone(ExecutionSchema, fold.execution), moving(fold));
}

/** What was encoded of a live execution: kept until its next event, for those who ask again and again. */
const encoded = new WeakMap<Fold, Uint8Array>();
/** A larger one is encoded anew each time, in bytes: its input is in memory already. */
const KEPT_BYTES = 64 * 1024;

/** Returns the wire form of {@link toExecution}. Shared: do not change it. */
export function encodeExecution(fold: Fold): Uint8Array {
  const kept = encoded.get(fold);
  if (kept !== undefined) return kept;
  const bytes = toBinary(ExecutionSchema, amend(fold.execution, moving(fold)));
  if (bytes.length <= KEPT_BYTES) encoded.set(fold, bytes);
  return bytes;
}

/** Returns the same of a stored execution: its parts one after another, which every reader of the wire form merges. */
export function encodeStored(stored: StoredExecution): Uint8Array {
  return Buffer.concat([stored.start, stored.row, toBinary(ExecutionSchema, create(ExecutionSchema, moving(stored)))]);
}

/** The fields that every event changes. */
function moving({ lastSequence, updateTimeMs }: Pick<Fold, "lastSequence" | "updateTimeMs">) {
  return { lastSequence, updateTime: timestampFromMs(updateTimeMs) };
}

/** The fields of an execution that never change after its first event. */
const IMMUTABLE = [
  "id",
  "conversationId",
  "providerId",
  "providerVersion",
  "input",
  "requiredCapabilities",
  "minimumLevels",
  "effectiveConfig",
  "labels",
  "runMode",
  "grants",
  "budgets",
  "deadlineTime",
  "actionPolicy",
  "orphanPolicy",
  "parentExecutionId",
  "rootExecutionId",
  "createTime",
  "tenantId",
  "userId",
] as const satisfies readonly (keyof Execution)[];

const blank = create(ExecutionSchema);
/** The immutable fields as they are where nothing is set. */
const BLANK: Partial<Execution> = Object.fromEntries(IMMUTABLE.map((field) => [field, blank[field]]));

/** Encodes the mutable part, as {@link ExecutionRow} wants it. */
export function encodeRow(fold: Fold): ExecutionRow {
  const mutable = amend(fold.execution, BLANK);
  const { state, endTime } = fold.execution;
  return {
    bytes: toBinary(ExecutionSchema, mutable),
    fold: JSON.stringify(fold.inner),
    state,
    ...(endTime === undefined ? {} : { endTimeMs: timestampMs(endTime) }),
  };
}

/** What is stored is read however deep it is: limits are for what comes in. */
const READ = { recursionLimit: 10_000 };

/** Returns a stored execution's fold; `artifactIds` may be left out where nothing will be decided on it. */
export function decodeFold(stored: StoredExecution, artifactIds: readonly string[] = []): Fold {
  return {
    execution: fromBinary(ExecutionSchema, Buffer.concat([stored.start, stored.row]), READ),
    lastSequence: stored.lastSequence,
    updateTimeMs: stored.updateTimeMs,
    inner: { ...INNER, ...(JSON.parse(stored.fold) as Inner) },
    artifactIds: new Set(artifactIds),
  };
}

/** Returns a shallow copy of `execution` with some fields replaced. */
export function amend(execution: Execution, fields: Partial<Execution>): Execution {
  const copy = Object.create(Object.getPrototypeOf(execution)) as Record<string, unknown>;
  const from = execution as unknown as Record<string, unknown>;
  // One by one: what `Object.assign` makes of a message takes several times as long.
  for (const name of Object.keys(from)) copy[name] = from[name];
  for (const name of Object.keys(fields)) copy[name] = fields[name as keyof Execution];
  return copy as unknown as Execution;
}

/** Returns the one open action, if any. */
export function openAction(fold: Fold): Execution["openActions"][number] | undefined {
  return fold.execution.openActions.find((action) => action.state === ActionState.PENDING);
}

/** Keeps what the provider says was used so far, for an end that says nothing of it. */
export function withReport(fold: Fold, usage: Usage | undefined): Fold {
  if (usage === undefined) return fold;
  return { ...fold, inner: { ...fold.inner, reportedUsage: toJson(UsageSchema, usage) } };
}

/** Returns the usage that the provider reported last, if any. */
export function lastReport({ inner: { reportedUsage } }: Fold): Usage | undefined {
  return reportedUsage === undefined ? undefined : fromJson(UsageSchema, reportedUsage);
}

/** Returns the time of an event in milliseconds. */
export function eventTimeMs(event: Event): number {
  return event.time === undefined ? 0 : timestampMs(event.time);
}

/** Returns whether the execution was asked to stop and has not yet. */
export function isCancelling(fold: Fold): boolean {
  return fold.execution.state === ExecutionState.CANCELLING;
}
