import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ActionRequest, ActionResponseSchema } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { HarnessClient } from "./client.js";
import { type HarnessRpcError, toRpcError } from "./errors.js";
import { callPatiently } from "./retry.js";

/** Which action to answer. */
export interface ActionName {
  readonly executionId: string;
  readonly actionId: string;
}

/** An answer as a caller writes it: `{ approved: true }`, `{ optionId: "once" }` or `{ value: … }`. */
export type ActionAnswer = MessageInitShape<typeof ActionResponseSchema>;

/**
 * Answers an action and returns it, answered.
 *
 * Exactly one answer is ever accepted, so the call is sent again after a
 * failure of the network. When a try that failed may have been the one that was
 * accepted, ACTION_ALREADY_RESOLVED with the same answer counts as success; an
 * input's value cannot be compared, so there it is thrown. Throws
 * `HarnessRpcError` with ACTION_ALREADY_RESOLVED, ACTION_CLOSED,
 * ACTION_NOT_FOUND or VALIDATION_ERROR.
 */
export async function respond(
  client: HarnessClient,
  name: ActionName,
  answer: ActionAnswer,
  signal?: AbortSignal,
): Promise<ActionRequest> {
  const options = signal === undefined ? {} : { signal };
  let tries = 0;
  const send = async (): Promise<ActionRequest> => {
    tries++;
    try {
      return mustHave((await client.actions.respondAction({ ...name, response: answer }, options)).action);
    } catch (error) {
      if (tries === 1 || !isOwnAnswer(toRpcError(error), answer)) throw error;
      return mustHave((await client.actions.getAction(name, options)).action);
    }
  };
  return await callPatiently(send, client.settings, { signal, waits: false });
}

/** Whether the action was resolved by what this caller had sent before, as far as the error tells. */
function isOwnAnswer({ reason, metadata }: HarnessRpcError, answer: ActionAnswer): boolean {
  if (reason !== ErrorReason.ACTION_ALREADY_RESOLVED || answer.value !== undefined) return false;
  const sameOption = (metadata["option_id"] ?? "") === (answer.optionId ?? "");
  return sameOption && (answer.approved === undefined || metadata["approved"] === String(answer.approved));
}

function mustHave(action: ActionRequest | undefined): ActionRequest {
  if (action === undefined) throw new TypeError("the server answered with no action");
  return action;
}
