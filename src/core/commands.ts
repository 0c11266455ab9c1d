import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type ActionRequest, ActionRequestSchema, ActionState } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { RespondActionRequest } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { type Conversation, ConversationSchema } from "../../gen/ts/harnessruntime/v1/conversation_pb.js";
import type { CreateConversationRequest } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { SendInputRequest, WithdrawInputRequest } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { type Execution, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { checkJson } from "./check-json.js";
import type { Clock } from "./clock.js";
import { closedActionError, decideRespond } from "./decide-action.js";
import { decideSend, decideWithdraw, takesNoInput } from "./decide-input.js";
import { digest, inputDigest } from "./digest.js";
import { draining } from "./draining.js";
import { HarnessError, invalid, isHarnessError, notFound } from "./errors.js";
import { decodeFold, toExecution } from "./fold.js";
import type { Ids } from "./ids.js";
import type { LiveExecution } from "./live-execution.js";
import type { Registry } from "./registry.js";
import type { AcceptedInput, Caller } from "./runtime.js";
import {
  type ConversationRow,
  type ExecutionKey,
  type IdempotencyRecord,
  IdempotencyTakenError,
  type Store,
} from "./store.js";

/** What commands on one execution work with. */
export interface CommandOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly registry: Registry;
  readonly recordValue: boolean;
}

/** Accepts an input for a live execution. */
export async function sendInput(
  { store, clock, ids, registry }: CommandOptions,
  live: LiveExecution,
  caller: Caller,
  request: SendInputRequest,
  isDraining: boolean,
): Promise<AcceptedInput> {
  const content = request.input ?? create(ContentSchema);
  const requestDigest = inputDigest(content, request.mode);
  const inputId = ids.next("input");
  const scope = scopeOf(request);
  const keyed = request.idempotencyKey !== undefined;
  const first = keyed ? await store.findIdempotent(live.key.tenantId, scope) : undefined;
  if (first !== undefined) return repeated(first, requestDigest, toExecution(live.writer.committed));
  if (isDraining) throw draining();
  const { manifest } = registry.get(live.writer.committed.execution.providerId);
  try {
    const sequence = await live.writer.decide((fold) => {
      const input = { inputId, mode: request.mode, content, digest: requestDigest, caller };
      const decided = decideSend(fold, input, manifest, clock.now());
      return keyed
        ? { ...decided, idempotency: { scope, digest: requestDigest, resourceId: `${inputId}:${decided.result}` } }
        : decided;
    });
    return { inputId, sequence, execution: toExecution(live.writer.committed) };
  } catch (error) {
    if (!keyed || isHarnessError(error, ErrorReason.STORE_UNAVAILABLE)) throw error;
    // A refusal may come of the very same input: it was still being stored when this one looked for it.
    const taken = await store.findIdempotent(live.key.tenantId, scope);
    if (taken === undefined) throw error;
    return repeated(taken, requestDigest, toExecution(live.writer.committed));
  }
}

/** Answers for an execution that is over: the same input again is the first one, anything else INVALID_STATE. */
export async function sendToEnded(
  { store }: CommandOptions,
  key: ExecutionKey,
  request: SendInputRequest,
): Promise<AcceptedInput> {
  const stored = await store.getExecution(key);
  if (stored === undefined) throw notFound("execution", key.executionId);
  const execution = toExecution(decodeFold(stored));
  const keyed = request.idempotencyKey !== undefined;
  const first = keyed ? await store.findIdempotent(key.tenantId, scopeOf(request)) : undefined;
  if (first === undefined) throw takesNoInput(execution);
  return repeated(first, inputDigest(request.input ?? create(ContentSchema), request.mode), execution);
}

function scopeOf({ executionId, idempotencyKey = "" }: SendInputRequest): string {
  return JSON.stringify(["input", executionId, idempotencyKey]);
}

function repeated(first: IdempotencyRecord, digest: string, execution: Execution): AcceptedInput {
  mustBeEquivalent(first, digest);
  const [inputId = "", sequence = "0"] = first.resourceId.split(":");
  return { inputId, sequence: Number(sequence), execution };
}

/** Fails with IDEMPOTENCY_CONFLICT where a key is sent again with another request. */
export function mustBeEquivalent(first: IdempotencyRecord, digest: string): void {
  if (first.digest === digest) return;
  const [resourceId = ""] = first.resourceId.split(":");
  throw new HarnessError(
    ErrorReason.IDEMPOTENCY_CONFLICT,
    "the idempotency key was used for a different request; use a new key, or send the first request again",
    { resource_id: resourceId },
  );
}

/** Withdraws an input that still waits. */
export async function withdrawInput(
  { store, clock }: CommandOptions,
  live: LiveExecution,
  { inputId, executionId }: WithdrawInputRequest,
): Promise<Execution> {
  const withdrawn = await live.writer.decide((fold) => decideWithdraw(fold, inputId, clock.now()));
  if (!withdrawn) throw await notPending(store, live.key, executionId, inputId);
  return toExecution(live.writer.committed);
}

/** The error for an input that cannot be withdrawn: it is consumed or dropped, or never was. */
export async function notPending(
  store: Store,
  key: ExecutionKey,
  executionId: string,
  inputId: string,
): Promise<HarnessError> {
  if ((await store.getInput(key, inputId)) === undefined) return notFound("input", inputId);
  const state = ExecutionState[(await store.getExecution(key))?.state ?? ExecutionState.UNSPECIFIED] ?? "";
  return new HarnessError(
    ErrorReason.INVALID_STATE,
    `input ${inputId} of execution ${executionId} is consumed or dropped and cannot be withdrawn any more`,
    { state, input_id: inputId },
  );
}

/** Accepts an answer for a live execution, or says why there is none to accept. */
export async function respondAction(
  { store, clock, recordValue }: CommandOptions,
  live: LiveExecution,
  caller: Caller,
  { actionId, response }: RespondActionRequest,
): Promise<{ readonly action: ActionRequest; readonly execution: Execution }> {
  if (response === undefined) throw invalid("response", "set `approved`, `option_id` or `value`");
  for (;;) {
    const nowMs = clock.now();
    const action = await live.writer.decide((fold) =>
      decideRespond(fold, { actionId, response, caller, recordValue, nowMs }),
    );
    if (action !== undefined) return { action, execution: toExecution(live.writer.committed) };
    const stored = await getAction(store, live.key, actionId);
    // What was decided before this answer may have failed to be stored: then the action is open again.
    if (stored.state !== ActionState.PENDING) throw closedActionError(stored);
  }
}

/** Returns an action; fails with ACTION_NOT_FOUND. */
export async function getAction(store: Store, key: ExecutionKey, actionId: string): Promise<ActionRequest> {
  const bytes = await store.getAction(key, actionId);
  if (bytes === undefined) throw notFound("action", actionId, ErrorReason.ACTION_NOT_FOUND);
  return fromBinary(ActionRequestSchema, bytes);
}

/** Returns the row of a new conversation. */
export function conversationRow(
  conversationId: string,
  { tenantId, userId }: Caller,
  nowMs: number,
  init: { readonly metadata?: JsonObject; readonly labels?: Readonly<Record<string, string>> } = {},
): ConversationRow {
  const labels = { ...init.labels };
  const conversation = create(ConversationSchema, {
    id: conversationId,
    createTime: timestampFromMs(nowMs),
    labels,
    tenantId,
    userId,
    ...(init.metadata === undefined ? {} : { metadata: init.metadata }),
  });
  return { tenantId, conversationId, createTimeMs: nowMs, labels, bytes: toBinary(ConversationSchema, conversation) };
}

/** Makes a conversation; the same request with the same key is the first one. */
export async function createConversation(
  { store, ids, clock }: CommandOptions,
  caller: Caller,
  request: CreateConversationRequest,
): Promise<Conversation> {
  const { metadata, labels, idempotencyKey } = request;
  if (metadata !== undefined) checkJson(metadata, "metadata");
  const conversationId = ids.next("conversation");
  const row = conversationRow(conversationId, caller, clock.now(), { labels, ...(metadata && { metadata }) });
  const requestDigest = digest({ metadata: metadata ?? {}, labels });
  const scope = JSON.stringify(["conversation", idempotencyKey ?? ""]);
  const record = { scope, digest: requestDigest, resourceId: conversationId };
  try {
    await store.createConversation(row, idempotencyKey === undefined ? undefined : record);
    return fromBinary(ConversationSchema, row.bytes);
  } catch (error) {
    if (!(error instanceof IdempotencyTakenError)) throw error;
    mustBeEquivalent(error.existing, requestDigest);
    const first = await store.getConversation(caller.tenantId, error.existing.resourceId);
    if (first === undefined) throw notFound("conversation", error.existing.resourceId);
    return fromBinary(ConversationSchema, first);
  }
}
