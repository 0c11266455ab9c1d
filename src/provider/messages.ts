import { create } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import type { Status } from "../../gen/ts/google/rpc/status_pb.js";
import {
  type ActionAnswer as AnswerMessage,
  type HistoryItem as HistoryMessage,
  HistoryRole,
  type Run,
} from "../../gen/ts/harnessruntime/provider/v1/run_pb.js";
import { ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError, type Reason } from "../core/errors.js";
import type { ActionAnswer, HistoryItem, ResumeInfo } from "../core/provider.js";
import { valueToJson } from "../core/value-text.js";

/** Returns an answer as a provider gets it. */
export function toAnswer(message: AnswerMessage): ActionAnswer {
  const { actionId, key, response, delivered, expired, responder } = message;
  return {
    actionId,
    key,
    approved: response?.approved ?? false,
    optionId: response?.optionId ?? "",
    value: response?.value === undefined ? undefined : valueToJson(response.value),
    metadata: response?.metadata,
    responder,
    expired,
    delivered,
  };
}

/** Returns a part of the history as a provider gets it. */
export function toHistory({ executionId, role, content }: HistoryMessage): HistoryItem {
  return {
    executionId,
    role: role === HistoryRole.ASSISTANT ? "assistant" : "user",
    content: content ?? create(ContentSchema),
  };
}

/** Returns what an attempt before left behind; undefined where there was none. */
export function toResumeInfo({ resume, attempt }: Run): ResumeInfo | undefined {
  if (resume === undefined) return undefined;
  return {
    attempt,
    turn: resume.turn,
    state: resume.state.length === 0 ? undefined : resume.state,
    lastSequence: resume.lastSequence,
    mark: 0,
    answers: resume.answers.map(toAnswer),
    inputs: resume.inputs.map(({ inputId, input }) => ({ inputId, content: input ?? create(ContentSchema) })),
  };
}

/** Returns the error that a refusal stands for. */
export function toRefusal(status: Status): HarnessError {
  const info = status.details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((found) => found !== undefined);
  const reason = (ErrorReason as unknown as Readonly<Record<string, Reason | undefined>>)[info?.reason ?? ""];
  return new HarnessError(reason ?? ErrorReason.INTERNAL, status.message, info?.metadata ?? {});
}
