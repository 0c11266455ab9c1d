import { create, fromJson, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Outcome, OutcomeSchema } from "../../gen/ts/harnessruntime/provider/v1/outcome_pb.js";
import { ActionKind, type ActionRequestSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { ActionInit, TurnOutcome } from "../core/provider.js";

/** Returns a turn's outcome as it is sent. Throws where it is none. */
export function toOutcome(outcome: TurnOutcome | undefined): Outcome {
  if (outcome === undefined) return create(OutcomeSchema, { result: { case: "success", value: {} } });
  const usage = outcome.usage === undefined ? {} : { usage: outcome.usage };
  switch (outcome.status) {
    case "succeeded": {
      const { finalOutput, structuredOutput, evaluation } = outcome;
      const value = {
        ...usage,
        ...(finalOutput === undefined ? {} : { finalOutput }),
        ...(structuredOutput === undefined ? {} : { structuredOutput: fromJson(ValueSchema, structuredOutput) }),
        ...(evaluation === undefined ? {} : { evaluation }),
      };
      return create(OutcomeSchema, { result: { case: "success", value } });
    }
    case "failed": {
      const { message, reason = FailureReason.PROVIDER_ERROR } = outcome;
      return create(OutcomeSchema, { result: { case: "failure", value: { ...usage, reason, message } } });
    }
    case "cancelled":
      return create(OutcomeSchema, { result: { case: "cancelled", value: usage } });
    case "awaiting_input": {
      const { request } = outcome;
      const action = toActionRequest({ ...request, kind: ActionKind.INPUT });
      const value = { ...usage, key: request.key, action };
      return create(OutcomeSchema, { result: { case: "awaitInput", value } });
    }
    default:
      throw new TypeError(`a turn's outcome has no status ${JSON.stringify((outcome as { status: unknown }).status)}`);
  }
}

/** Returns a failure as it is sent. */
export function toFailure(message: string, reason = FailureReason.PROVIDER_ERROR): Outcome {
  return create(OutcomeSchema, { result: { case: "failure", value: { reason, message } } });
}

/** Returns a question as it is sent. */
export function toActionRequest(init: ActionInit): MessageInitShape<typeof ActionRequestSchema> {
  const { kind, title, description = "", payload, options = [], inputSchema, providerRef = "" } = init;
  return {
    kind,
    title,
    description,
    providerRef,
    options: [...options],
    ...(payload === undefined ? {} : { payload: payload satisfies JsonObject }),
    ...(inputSchema === undefined ? {} : { inputSchema: inputSchema satisfies JsonObject }),
  };
}
