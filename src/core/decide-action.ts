import { clone, create, toBinary } from "@bufbuild/protobuf";
import { timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  ActionKind,
  ActionOptionKind,
  type ActionRequest,
  ActionRequestSchema,
  type ActionResponse,
  ActionResponseSchema,
  ActionState,
} from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ActionTimeoutPolicy } from "../../gen/ts/harnessruntime/v1/policy_pb.js";
import { checkJson, checkJsonValue } from "./check-json.js";
import { type Decision, nothing, type PayloadInit, record } from "./decision.js";
import { HarnessError, invalid } from "./errors.js";
import { turnInputId } from "./evolve.js";
import { type Fold, openAction } from "./fold.js";
import { MAX_DESCRIPTOR_BYTES } from "./limits.js";
import type { Caller } from "./runtime.js";
import { checkSchema } from "./schema.js";
import type { ActionRow, InputRow, SideWrites } from "./store.js";
import { valueToText } from "./value-text.js";

/** What a provider's key for an action is kept with. */
export interface ActionKeyed {
  readonly action: ActionRequest;
  readonly key: string;
}

/** Opens an action. The caller has made sure that none is open and the state is RUNNING. */
export function decideOpenAction(fold: Fold, { action, key }: ActionKeyed, nowMs: number): Decision {
  const { fold: after, events } = record(fold, [{ case: "actionRequired", value: { action } }], nowMs);
  const keyed = { ...after, inner: { ...after.inner, openKey: key } };
  return { fold: keyed, events, side: { actions: [actionRow(keyed, action)] }, result: undefined };
}

/** One answer, as it came. */
export interface Answer {
  readonly actionId: string;
  readonly response: ActionResponse;
  readonly caller: Caller;
  /** Whether the event carries the value. */
  readonly recordValue: boolean;
  readonly nowMs: number;
}

/**
 * Accepts the answer to the open action; the result is the action as answered,
 * or undefined where that action is not open (and nothing is decided). Fails
 * with VALIDATION_ERROR where the answer does not fit; the action stays open.
 */
export function decideRespond(fold: Fold, answer: Answer): Decision<ActionRequest | undefined> {
  const open = openAction(fold);
  if (open === undefined || open.id !== answer.actionId) return nothing(fold, undefined);
  const { response, caller, nowMs } = answer;
  const { approved, optionId } = checkAnswer(open, response);
  const value = {
    actionId: open.id,
    optionId,
    responder: caller,
    ...(approved === undefined ? {} : { approved }),
    ...(answer.recordValue && response.value !== undefined ? { value: response.value } : {}),
  };
  const recorded = record(fold, [{ case: "actionResponded", value }], nowMs);
  const closed = clone(ActionRequestSchema, open);
  Object.assign(closed, { state: ActionState.RESPONDED, respondTime: timestampFromMs(nowMs), optionId });
  closed.responder = create(ActionRequestSchema, { responder: caller }).responder as NonNullable<
    typeof closed.responder
  >;
  if (approved !== undefined) closed.approved = approved;
  const full = clone(ActionResponseSchema, response);
  full.optionId = optionId;
  if (approved !== undefined) full.approved = approved;
  return {
    ...recorded,
    side: {
      actions: [actionRow(fold, closed)],
      answers: [{ actionId: open.id, bytes: toBinary(ActionResponseSchema, full), delivered: false, expired: false }],
      ...turnInput(fold, recorded.fold, response),
    },
    result: closed,
  };
}

/** The body of the turn that an answer begins. */
function turnInput(before: Fold, after: Fold, response: ActionResponse | undefined): { inputs?: readonly InputRow[] } {
  const { turn } = after.execution;
  if (turn === before.execution.turn) return {};
  const content = create(ContentSchema, { text: response?.value === undefined ? "" : valueToText(response.value) });
  return { inputs: [{ inputId: turnInputId(turn), bytes: toBinary(ContentSchema, content) }] };
}

/** Closes the open action because its time is over; nothing where it is not open any more. */
export function decideExpire(fold: Fold, actionId: string, nowMs: number): Decision<boolean> {
  const open = openAction(fold);
  if (open === undefined || open.id !== actionId) return nothing(fold, false);
  const policy = fold.execution.actionPolicy?.onTimeout || ActionTimeoutPolicy.DENY;
  const expired: PayloadInit = { case: "actionExpired", value: { actionId, policy } };
  const cancelling: PayloadInit = { case: "runCancelling", value: { reason: "action_timeout" } };
  const payloads = policy === ActionTimeoutPolicy.CANCEL ? [expired, cancelling] : [expired];
  const recorded = record(fold, payloads, nowMs);
  const closed = clone(ActionRequestSchema, open);
  closed.state = ActionState.EXPIRED;
  return {
    ...recorded,
    side: {
      actions: [actionRow(fold, closed)],
      answers: [{ actionId, bytes: new Uint8Array(), delivered: false, expired: true }],
      ...turnInput(fold, recorded.fold, undefined),
    },
    result: true,
  };
}

/** What closes the open action, if any, because the turn or the execution goes another way. */
export function abandonOpenAction(
  fold: Fold,
  reason: string,
): { readonly payloads: readonly PayloadInit[]; readonly side: SideWrites } | undefined {
  const open = openAction(fold);
  if (open === undefined) return undefined;
  const closed = clone(ActionRequestSchema, open);
  closed.state = ActionState.ABANDONED;
  return {
    payloads: [{ case: "actionAbandoned", value: { actionId: open.id, reason } }],
    side: { actions: [actionRow(fold, closed)] },
  };
}

/** The error for an answer to an action that is closed. */
export function closedActionError(action: ActionRequest): HarnessError {
  if (action.state !== ActionState.RESPONDED) {
    const state = ActionState[action.state];
    return new HarnessError(
      ErrorReason.ACTION_CLOSED,
      `action ${action.id} is ${state} and takes no answer; look at its execution for what happened`,
      { action_id: action.id, state },
    );
  }
  const time = action.respondTime === undefined ? "" : timestampDate(action.respondTime).toISOString();
  return new HarnessError(
    ErrorReason.ACTION_ALREADY_RESOLVED,
    `action ${action.id} was answered by ${action.responder?.userId ?? ""} at ${time}; an action takes one answer`,
    {
      action_id: action.id,
      responder: action.responder?.userId ?? "",
      respond_time: time,
      ...(action.approved === undefined ? {} : { approved: String(action.approved) }),
      option_id: action.optionId,
    },
  );
}

/** Returns what an answer says once it fits the action. */
function checkAnswer(
  action: ActionRequest,
  response: ActionResponse,
): { readonly approved: boolean | undefined; readonly optionId: string } {
  if (toBinary(ActionResponseSchema, response).length > MAX_DESCRIPTOR_BYTES) {
    throw invalid("response", `an answer is at most ${MAX_DESCRIPTOR_BYTES} bytes; pass large content by reference`);
  }
  if (response.value !== undefined) checkJsonValue(response.value, "response.value");
  if (response.metadata !== undefined) checkJson(response.metadata, "response.metadata");
  return action.kind === ActionKind.INPUT ? checkInput(action, response) : checkApproval(action, response);
}

function checkInput(action: ActionRequest, response: ActionResponse): { approved: undefined; optionId: string } {
  if (response.approved !== undefined || response.optionId !== "") {
    throw invalid("response", "this action asks for input: set `value`, not `approved` or `option_id`");
  }
  if (response.value === undefined) throw invalid("response.value", "this action asks for input: set `value`");
  if (action.inputSchema !== undefined) checkSchema(action.inputSchema, response.value, "response.value");
  return { approved: undefined, optionId: "" };
}

/** Whether choosing an option approves, by its kind; a kind that is not listed leaves it to the answer. */
const APPROVES: { readonly [kind: number]: boolean } = {
  [ActionOptionKind.ALLOW_ONCE]: true,
  [ActionOptionKind.ALLOW_ALWAYS]: true,
  [ActionOptionKind.REJECT_ONCE]: false,
  [ActionOptionKind.REJECT_ALWAYS]: false,
};

function checkApproval(action: ActionRequest, response: ActionResponse): { approved: boolean; optionId: string } {
  const { approved, optionId } = response;
  if (response.value !== undefined)
    throw invalid("response.value", "this action asks for approval: set `approved` or `option_id`");
  if (optionId === "") {
    if (approved === undefined)
      throw invalid("response", "this action asks for approval: set `approved` or `option_id`");
    return { approved, optionId };
  }
  return { approved: checkOption(action, optionId, approved), optionId };
}

/** Returns whether choosing an option approves; `approved` is what the answer says of it. */
function checkOption(action: ActionRequest, optionId: string, approved: boolean | undefined): boolean {
  const option = action.options.find(({ id }) => id === optionId);
  if (option === undefined) {
    const ids = action.options.map(({ id }) => JSON.stringify(id)).join(", ");
    throw invalid(
      "response.option_id",
      ids === "" ? "this action has no options: set `approved`" : `use one of ${ids}`,
    );
  }
  const approves = APPROVES[option.kind] ?? approved;
  if (approves === undefined) {
    throw invalid(
      "response.approved",
      `option ${JSON.stringify(optionId)} does not say what it means: set \`approved\` too`,
    );
  }
  if (approved !== undefined && approved !== approves) {
    throw invalid("response.approved", `it contradicts option ${JSON.stringify(optionId)}; set only one of them`);
  }
  return approves;
}

/** The row of the open action, as it is now or as it closes. */
function actionRow({ execution, inner }: Fold, action: ActionRequest): ActionRow {
  return {
    actionId: action.id,
    kind: action.kind,
    state: action.state,
    providerId: execution.providerId,
    createTimeMs: action.createTime === undefined ? 0 : timestampDate(action.createTime).getTime(),
    actionKey: inner.openKey,
    bytes: toBinary(ActionRequestSchema, action),
  };
}
