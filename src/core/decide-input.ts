import { toBinary } from "@bufbuild/protobuf";
import { type Content, ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputDropReason, InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { supports } from "./capability.js";
import { abandonOpenAction } from "./decide-action.js";
import { type Decision, nothing, type PayloadInit, record } from "./decision.js";
import { HarnessError } from "./errors.js";
import { type Fold, isCancelling, type PendingInput } from "./fold.js";
import { isTerminal } from "./lifecycle.js";
import { MAX_PENDING_INPUTS } from "./limits.js";
import type { Caller } from "./runtime.js";
import type { IdempotencyRecord } from "./store.js";

/** Why the open action of a turn is abandoned that another input takes the place of. */
const REPLACED = "replaced by a new input";

/** The capability that each mode needs. */
const CAPABILITIES: Readonly<Record<InputMode, string>> = {
  [InputMode.UNSPECIFIED]: "",
  [InputMode.FOLLOW_UP]: "input.follow_up",
  [InputMode.STEER]: "input.steer",
  [InputMode.REPLACE]: "input.replace",
};

/** An input about to be accepted. */
export interface NewInput {
  readonly inputId: string;
  readonly mode: InputMode;
  readonly content: Content;
  readonly digest: string;
  readonly caller: Caller;
  readonly idempotency?: IdempotencyRecord;
}

/**
 * Accepts an input: `input_accepted`, before it a REPLACE closes the open action,
 * after it a REPLACE supersedes one that still waits. Its result is the sequence
 * of `input_accepted`. Fails with INVALID_STATE, INPUT_MODE_UNSUPPORTED or
 * INPUT_QUEUE_FULL.
 */
export function decideSend(fold: Fold, input: NewInput, manifest: ProviderManifest, nowMs: number): Decision<number> {
  mustAcceptInput(fold, input.mode, manifest);
  const { inputId, mode, digest, caller } = input;
  const replaces = mode === InputMode.REPLACE;
  const abandoned = replaces ? abandonOpenAction(fold, REPLACED) : undefined;
  const superseded = replaces ? fold.inner.inputs.filter((pending) => pending.mode === InputMode.REPLACE) : [];
  const recorded = record(
    fold,
    [
      ...(abandoned?.payloads ?? []),
      { case: "inputAccepted", value: { inputId, mode, digest, principal: caller } },
      ...superseded.map((pending) => dropped(pending, InputDropReason.SUPERSEDED)),
    ],
    nowMs,
  );
  return {
    ...recorded,
    side: { ...abandoned?.side, inputs: [{ inputId, bytes: toBinary(ContentSchema, input.content) }] },
    ...(input.idempotency === undefined ? {} : { idempotency: input.idempotency }),
    result: fold.lastSequence + (abandoned?.payloads.length ?? 0) + 1,
  };
}

function mustAcceptInput({ execution, inner }: Fold, mode: InputMode, manifest: ProviderManifest): void {
  if (isTerminal(execution.state) || execution.state === ExecutionState.CANCELLING) {
    throw takesNoInput(execution);
  }
  if (!supports(manifest, CAPABILITIES[mode])) {
    throw new HarnessError(
      ErrorReason.INPUT_MODE_UNSUPPORTED,
      `provider ${manifest.id} does not support ${InputMode[mode]}; its manifest lists the input.* modes that it does`,
      { mode: InputMode[mode], provider_id: manifest.id },
    );
  }
  if (inner.inputs.length >= MAX_PENDING_INPUTS) {
    throw new HarnessError(
      ErrorReason.INPUT_QUEUE_FULL,
      `execution ${execution.id} has ${MAX_PENDING_INPUTS} inputs that wait; try again after one is consumed, or withdraw one`,
      { max_queued_inputs: String(MAX_PENDING_INPUTS) },
    );
  }
}

/** The error for an input to an execution that is over or on its way there. */
export function takesNoInput({ id, state }: Execution): HarnessError {
  const name = ExecutionState[state];
  return new HarnessError(
    ErrorReason.INVALID_STATE,
    `execution ${id} is ${name} and takes no more input; start a new execution in its conversation`,
    { state: name },
  );
}

/**
 * Withdraws an input that still waits. Where it does not, `known` tells whether it
 * ever did: INVALID_STATE, else nothing is decided and the result is false.
 */
export function decideWithdraw(fold: Fold, inputId: string, nowMs: number): Decision<boolean> {
  const pending = fold.inner.inputs.find((input) => input.inputId === inputId);
  if (pending === undefined) return nothing(fold, false);
  return { ...record(fold, [dropped(pending, InputDropReason.WITHDRAWN)], nowMs), result: true };
}

/** The input that the next turn would run: a REPLACE before any FOLLOW_UP, each oldest first. */
export function nextTurnInput({ inner }: Fold): PendingInput | undefined {
  const oldest = (mode: InputMode): PendingInput | undefined => inner.inputs.find((input) => input.mode === mode);
  return oldest(InputMode.REPLACE) ?? oldest(InputMode.FOLLOW_UP);
}

/** Consumes what the next turn runs, which begins it; undefined where nothing waits for a turn. */
export function decideNextTurn(fold: Fold, nowMs: number): Decision<PendingInput> | undefined {
  const next = nextTurnInput(fold);
  if (next === undefined) return undefined;
  const { turn } = fold.execution;
  const value = {
    inputId: next.inputId,
    turn: turn + 1,
    supersededTurn: next.mode === InputMode.REPLACE ? turn : 0,
  };
  // One that came to be open all the same is nobody's any more: its turn is over.
  const abandoned = abandonOpenAction(fold, REPLACED);
  const payloads: PayloadInit[] = [...(abandoned?.payloads ?? []), { case: "inputConsumed", value }];
  return { ...record(fold, payloads, nowMs), ...(abandoned && { side: abandoned.side }), result: next };
}

/** Consumes the oldest steer in the running turn; the result is undefined where there is none or the turn may take none. */
export function decideSteer(fold: Fold, nowMs: number): Decision<PendingInput | undefined> {
  const steer = fold.inner.inputs.find((input) => input.mode === InputMode.STEER);
  const { state, turn } = fold.execution;
  if (steer === undefined || isCancelling(fold) || isTerminal(state)) return nothing(fold, undefined);
  const value = { inputId: steer.inputId, turn, supersededTurn: 0 };
  return { ...record(fold, [{ case: "inputConsumed", value }], nowMs), result: steer };
}

/** The events that drop all inputs that are left when the execution ends. */
export function dropAll({ inner }: Fold): PayloadInit[] {
  return inner.inputs.map((pending) => dropped(pending, InputDropReason.EXECUTION_ENDED));
}

function dropped({ inputId }: PendingInput, reason: InputDropReason): PayloadInit {
  return { case: "inputDropped", value: { inputId, reason } };
}
