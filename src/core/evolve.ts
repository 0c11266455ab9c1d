import { create } from "@bufbuild/protobuf";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import {
  CancellationSchema,
  type Execution,
  ExecutionErrorSchema,
} from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ActionTimeoutPolicy } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { CompletionAction } from "../../gen/ts/harnessruntime/v1/result_events_pb.js";
import { UsageSchema } from "../../gen/ts/harnessruntime/v1/usage_pb.js";
import { amend, eventTimeMs, type Fold, type Inner } from "./fold.js";
import { type EventKind, type EventPayload, nextState, type PayloadOf } from "./lifecycle.js";
import { addUsage } from "./usage.js";

/** What one event changes. */
interface Change {
  readonly execution?: Partial<Execution>;
  readonly inner?: Partial<Inner>;
  readonly artifactId?: string;
}

type Rules = { readonly [K in EventKind]?: (fold: Fold, value: PayloadOf<K>, event: Event) => Change };

const NO_ACTION: Partial<Execution> = { openActions: [] };

/** What each kind of event changes beyond the state; a kind that is not listed changes nothing. */
const RULES: Rules = {
  runStarted: ({ execution, inner }, _, event) => ({
    ...(execution.startTime === undefined ? { execution: startTime(event) } : {}),
    ...(inner.turnStart === 0 ? { inner: { turnStart: event.sequence } } : {}),
  }),
  runResumed: (_, { attempt }) => ({ execution: { attempt }, inner: { mark: 0 } }),
  runCancelling: (_, { reason, principal }, { time }) => ({
    execution: {
      cancel: create(CancellationSchema, {
        reason,
        ...(principal === undefined ? {} : { principal }),
        ...(time === undefined ? {} : { requestTime: time }),
      }),
    },
  }),
  runCompleted: (_, value, event) => ({
    execution: {
      finalOutput: value.finalOutput,
      finalOutputTruncated: value.finalOutputTruncated,
      ...(value.structuredOutput === undefined ? {} : { structuredOutput: value.structuredOutput }),
      ...ended(value, event),
    },
  }),
  runFailed: (_, value, event) => ({
    execution: {
      error: create(ExecutionErrorSchema, {
        reason: value.reason,
        message: value.message,
        cleanupError: value.cleanupError,
      }),
      ...ended(value, event),
    },
  }),
  runCancelled: ({ execution }, value, event) => ({
    execution: {
      ...(execution.cancel === undefined ? {} : { cancel: { ...execution.cancel, cleanupError: value.cleanupError } }),
      ...ended(value, event),
    },
  }),
  modelCompleted: ({ execution }, { usage = create(UsageSchema) }) => {
    // An event stands for at least one call; tool calls have events of their own.
    const calls = { modelCalls: Math.max(usage.modelCalls, 1), toolCalls: 0 };
    return { execution: { usage: addUsage(execution.usage, { ...usage, ...calls }) } };
  },
  toolCallStarted: ({ execution }) => ({
    execution: { usage: addUsage(execution.usage, create(UsageSchema, { toolCalls: 1 })) },
  }),
  actionRequired: (_, { action }) => (action === undefined ? {} : { execution: { openActions: [action] } }),
  actionResponded: () => ({ execution: NO_ACTION, inner: { answerBeginsTurn: false } }),
  actionExpired: (_, { policy }) => ({
    execution: NO_ACTION,
    inner: { answerBeginsTurn: false, ...(policy === ActionTimeoutPolicy.FAIL ? { actionTimedOut: true } : {}) },
  }),
  actionAbandoned: () => ({ execution: NO_ACTION, inner: { answerBeginsTurn: false } }),
  inputAccepted: ({ inner }, { inputId, mode }) => ({ inner: { inputs: [...inner.inputs, { inputId, mode }] } }),
  inputConsumed: ({ inner }, { inputId }) => ({
    inner: { inputs: without(inner, inputId), steers: [...inner.steers, inputId] },
  }),
  inputDropped: ({ inner }, { inputId }) => ({ inner: { inputs: without(inner, inputId) } }),
  artifactCreated: (_, { artifact }) => (artifact === undefined ? {} : { artifactId: artifact.id }),
  completionEvaluated: ({ inner }, { action }) => ({
    inner: {
      ...(action === CompletionAction.REVISE ? { revision: inner.revision + 1 } : {}),
      ...(action === CompletionAction.AWAIT_INPUT ? { answerBeginsTurn: true } : {}),
    },
  }),
};

/** Returns the fold after `events`, in their order. Pure; throws a RangeError where one does not follow. */
export function evolve(fold: Fold, events: readonly Event[]): Fold {
  let evolved = fold;
  for (const event of events) evolved = evolveOne(evolved, event);
  return evolved;
}

function evolveOne(fold: Fold, event: Event): Fold {
  const { payload, sequence } = event;
  if (payload.case === undefined) throw new RangeError(`event ${sequence} has no payload`);
  if (sequence !== fold.lastSequence + 1) throw new RangeError(`event ${sequence} after ${fold.lastSequence}`);
  const state = nextState(fold.execution.state, payload);
  const rule = RULES[payload.case] as ((fold: Fold, value: never, event: Event) => Change) | undefined;
  const change = rule?.(fold, payload.value as never, event) ?? {};
  const turn = turnChange(fold, event, payload);
  const changed = state !== fold.execution.state || change.execution !== undefined || turn !== undefined;
  return {
    execution: changed
      ? amend(fold.execution, {
          state,
          ...change.execution,
          ...(turn ? { turn: event.turn } : {}),
          ...first(fold, event),
        })
      : fold.execution,
    lastSequence: sequence,
    updateTimeMs: eventTimeMs(event),
    inner: change.inner || turn ? { ...fold.inner, ...change.inner, ...turn } : fold.inner,
    artifactIds: change.artifactId === undefined ? fold.artifactIds : new Set([...fold.artifactIds, change.artifactId]),
  };
}

/** The first event sets attempt and turn to 1. */
function first({ execution }: Fold, event: Event): Partial<Execution> {
  return execution.attempt === 0 ? { attempt: event.attempt, turn: event.turn } : {};
}

/** The name under which the body of a turn's input is kept where no caller sent it: an answer, a revision. */
export function turnInputId(turn: number): string {
  return `turn-${turn}`;
}

/** The first event of a further turn says where its input is and starts the count of revisions anew, but for a revision. */
function turnChange({ execution }: Fold, event: Event, payload: EventPayload): Partial<Inner> | undefined {
  if (execution.attempt === 0 || event.turn === execution.turn) return undefined;
  const sent = payload.case === "inputConsumed";
  return {
    turnStart: event.sequence,
    turnInput: sent ? payload.value.inputId : turnInputId(event.turn),
    steers: [],
    ...(payload.case === "completionEvaluated" ? {} : { revision: 0 }),
  };
}

function startTime({ time }: Event): Partial<Execution> {
  return time === undefined ? {} : { startTime: time };
}

function ended(
  value: PayloadOf<"runCompleted"> | PayloadOf<"runFailed"> | PayloadOf<"runCancelled">,
  { time }: Event,
): Partial<Execution> {
  return {
    ...(time === undefined ? {} : { endTime: time }),
    ...(value.usage === undefined ? {} : { usage: value.usage }),
    ...("containment" in value && value.containment !== undefined ? { containment: value.containment } : {}),
  };
}

function without({ inputs }: Inner, inputId: string): Inner["inputs"] {
  return inputs.filter((input) => input.inputId !== inputId);
}
