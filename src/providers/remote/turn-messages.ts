import { clone, create, type DescMessage, fromJson, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Outcome, TurnSuccess } from "../../../gen/ts/harnessruntime/provider/v1/outcome_pb.js";
import {
  ActionAnswerSchema,
  type ActionAnswer as AnswerMessage,
  HistoryItemSchema,
  type HistoryItem as HistoryMessage,
  HistoryRole,
  InputSchema,
  type RequestAction,
  type Run,
  RunSchema,
} from "../../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ActionKind, type ActionRequest } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { type Content, ContentSchema } from "../../../gen/ts/harnessruntime/v1/content_pb.js";
import { FailureReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionSchema } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import type { Usage } from "../../../gen/ts/harnessruntime/v1/usage_pb.js";
import type { ActionAnswer, ActionInit, HistoryItem, ProviderContext, TurnOutcome } from "../../core/provider.js";
import { valueToJson } from "../../core/value-text.js";

/** How much of the conversation's history is sent, in bytes: the newest of it. */
const MAX_HISTORY_BYTES = 1 << 20;
/** How much of the earlier answers is sent, in bytes: the newest of them. Any can be had by asking again. */
const MAX_ANSWERS_BYTES = 512 << 10;
/** How much of the inputs that were handed over before is sent, in bytes: the newest of them. */
const MAX_INPUTS_BYTES = 2 << 20;

/** Returns a turn as it is sent, with as much of the conversation's history as there is room for. */
export function toRun(context: ProviderContext, history: readonly HistoryItem[]): Run {
  const { attempt, turn, input, resume, revision = 0 } = context;
  const execution = clone(ExecutionSchema, context.execution);
  if (execution.input !== undefined) execution.input = withoutBytes(execution.input);
  const said = newest(history.map(toHistory), MAX_HISTORY_BYTES, HistoryItemSchema);
  const run = create(RunSchema, { execution, attempt, turn, revision, input, history: said });
  if (resume === undefined || context.reattached) return run;
  const executionId = execution.id;
  const answers = resume.answers.map((answer) => toAnswerMessage(answer, executionId, attempt));
  const inputs = resume.inputs.map(({ inputId, content }) => {
    return create(InputSchema, { executionId, attempt, turn, inputId, mode: InputMode.STEER, input: content });
  });
  run.resume = create(RunSchema, {
    resume: {
      attempt: attempt - 1,
      turn: resume.turn,
      state: resume.state ?? new Uint8Array(),
      lastSequence: resume.lastSequence,
      answers: newest(answers, MAX_ANSWERS_BYTES, ActionAnswerSchema),
      inputs: newest(inputs, MAX_INPUTS_BYTES, InputSchema),
    },
  }).resume as NonNullable<Run["resume"]>;
  return run;
}

/** Returns an answer as it is sent. */
export function toAnswerMessage(answer: ActionAnswer, executionId: string, attempt: number): AnswerMessage {
  const { actionId, key, approved, optionId, value, metadata, responder, expired, delivered } = answer;
  return create(ActionAnswerSchema, {
    executionId,
    attempt,
    actionId,
    key,
    delivered,
    expired,
    response: {
      optionId,
      ...(value === undefined ? { approved } : { value: fromJson(ValueSchema, value) }),
      ...(metadata === undefined ? {} : { metadata }),
    },
    ...(responder === undefined ? {} : { responder }),
  });
}

/** Returns the word that there will be no answer. */
export function toAbandoned(key: string, executionId: string, attempt: number): AnswerMessage {
  return create(ActionAnswerSchema, { executionId, attempt, key, abandoned: true });
}

/** Returns what is asked, as the port has it. */
export function toActionInit({ key, action }: Pick<RequestAction, "key" | "action">): ActionInit {
  return { kind: (action?.kind ?? ActionKind.UNSPECIFIED) as ActionInit["kind"], ...toQuestion(key, action) };
}

/** Returns how a turn ended, as the port has it, which checks it. */
export function toTurnOutcome(outcome: Outcome | undefined): TurnOutcome {
  const result = outcome?.result ?? { case: undefined };
  switch (result.case) {
    case undefined:
      return { status: "succeeded" };
    case "success":
      return toSuccess(result.value);
    case "failure": {
      const { reason, message } = result.value;
      const known = reason === FailureReason.UNSPECIFIED ? {} : { reason };
      return { status: "failed", message, ...known, ...usageOf(result.value) };
    }
    case "cancelled":
      return { status: "cancelled", ...usageOf(result.value) };
    case "awaitInput": {
      const request = toQuestion(result.value.key, result.value.action);
      return { status: "awaiting_input", request, ...usageOf(result.value) };
    }
  }
}

function toSuccess(success: TurnSuccess): TurnOutcome {
  const { finalOutput, structuredOutput, evaluation } = success;
  return {
    status: "succeeded",
    ...(finalOutput === undefined ? {} : { finalOutput }),
    ...(structuredOutput === undefined ? {} : { structuredOutput: valueToJson(structuredOutput) }),
    ...(evaluation === undefined ? {} : { evaluation }),
    ...usageOf(success),
  };
}

function usageOf({ usage }: { usage?: Usage | undefined }): { usage?: Usage } {
  return usage === undefined ? {} : { usage };
}

/** Returns the failure of a provider that broke the contract. */
export function violation(message: string): Extract<TurnOutcome, { status: "failed" }> {
  return { status: "failed", reason: FailureReason.PROVIDER_PROTOCOL_VIOLATION, message };
}

function toQuestion(key: string, action: ActionRequest | undefined): Omit<ActionInit, "kind"> {
  const { title = "", description = "", payload, options = [], inputSchema, providerRef = "" } = action ?? {};
  return {
    key,
    title,
    description,
    options,
    providerRef,
    ...(payload === undefined ? {} : { payload }),
    ...(inputSchema === undefined ? {} : { inputSchema }),
  };
}

function toHistory({ executionId, role, content }: HistoryItem): HistoryMessage {
  return create(HistoryItemSchema, {
    executionId,
    role: role === "assistant" ? HistoryRole.ASSISTANT : HistoryRole.USER,
    content: withoutBytes(content),
  });
}

/** Returns content without the bytes of its attachments. */
function withoutBytes(content: Content): Content {
  const copy = clone(ContentSchema, content);
  for (const attachment of copy.attachments) {
    if (attachment.source.case === "data") attachment.source = { case: undefined };
  }
  return copy;
}

/** Returns the last of `items` that fit, in their order. */
function newest<D extends DescMessage>(items: readonly MessageShape<D>[], maxBytes: number, schema: D) {
  let left = maxBytes;
  const from = items.findLastIndex((item) => {
    left -= toBinary(schema, item).length;
    return left < 0;
  });
  return items.slice(from + 1);
}
