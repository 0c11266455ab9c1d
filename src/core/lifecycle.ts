import { ActionKind } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";

/** The payload of a stored event: one case of the contract's oneof. */
export type EventPayload = Extract<Event["payload"], { case: string }>;
/** The kind of an event, by its case in the oneof. */
export type EventKind = EventPayload["case"];
/** The payload of one kind. */
export type PayloadOf<K extends EventKind> = Extract<EventPayload, { case: K }>["value"];

type Edge = readonly [from: ExecutionState, to: ExecutionState];
type Edges<K extends EventKind> = readonly Edge[] | ((value: PayloadOf<K>) => readonly Edge[]);

const {
  UNSPECIFIED,
  QUEUED,
  STARTING,
  RUNNING,
  AWAITING_INPUT,
  AWAITING_APPROVAL,
  CANCELLING,
  SUCCEEDED,
  FAILED,
  CANCELLED,
} = ExecutionState;

/** The states from which none leads away. */
export const TERMINAL: readonly ExecutionState[] = [SUCCEEDED, FAILED, CANCELLED];
/** The states of an execution that is not over, in the order of the diagram. */
export const NON_TERMINAL: readonly ExecutionState[] = [
  QUEUED,
  STARTING,
  RUNNING,
  AWAITING_INPUT,
  AWAITING_APPROVAL,
  CANCELLING,
];

/** An open action that closes: back to RUNNING; while CANCELLING nothing changes. */
const CLOSED: readonly Edge[] = [
  [AWAITING_INPUT, RUNNING],
  [AWAITING_APPROVAL, RUNNING],
  [CANCELLING, CANCELLING],
];

/**
 * Every transition there is: the diagram of the runtime model (its section
 * "State Machine") keyed by the event that makes it. A kind that is not listed
 * changes no state; nothing else writes `state`.
 */
export const TRANSITIONS: { readonly [K in EventKind]?: Edges<K> } = {
  runQueued: [[UNSPECIFIED, QUEUED]],
  runStarting: [[QUEUED, STARTING]],
  runStarted: [[STARTING, RUNNING]],
  actionRequired: ({ action }) => [[RUNNING, action?.kind === ActionKind.INPUT ? AWAITING_INPUT : AWAITING_APPROVAL]],
  actionResponded: CLOSED,
  actionExpired: CLOSED,
  actionAbandoned: CLOSED,
  runCompleted: [[RUNNING, SUCCEEDED]],
  runFailed: [[RUNNING, FAILED]],
  runCancelling: NON_TERMINAL.filter((state) => state !== CANCELLING).map((state): Edge => [state, CANCELLING]),
  runCancelled: [[CANCELLING, CANCELLED]],
};

/** Returns whether an execution in `state` is over: SUCCEEDED, FAILED or CANCELLED. */
export function isTerminal(state: ExecutionState): boolean {
  return TERMINAL.includes(state);
}

/**
 * Returns the state after an event with `payload`. Throws a RangeError where the
 * table has no edge for it: a bug of whoever decided the event, never a caller's
 * fault.
 */
export function nextState(state: ExecutionState, payload: EventPayload): ExecutionState {
  const edges = edgesOf(payload);
  if (edges === undefined) {
    if (state !== UNSPECIFIED && !isTerminal(state)) return state;
    throw new RangeError(`${payload.case} in state ${ExecutionState[state]}`);
  }
  const edge = edges.find(([from]) => from === state);
  if (edge === undefined) throw new RangeError(`no edge for ${payload.case} from ${ExecutionState[state]}`);
  return edge[1];
}

function edgesOf(payload: EventPayload): readonly Edge[] | undefined {
  const edges = TRANSITIONS[payload.case] as Edges<EventKind> | undefined;
  return typeof edges === "function" ? edges(payload.value as never) : edges;
}
