import { ActionKind, ActionOptionKind, type ActionRequest } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { toRpcError } from "../../client/errors.js";
import { type ActionAnswer, respond } from "../../client/respond.js";
import { client } from "../session.js";
import { confirm } from "./confirm.js";
import { notify, notifyError } from "./notices.js";

/** Gets an action as an answer left it. */
export type OnAnswered = (action: ActionRequest) => void;

/** Sends an answer and says what came of it; returns whether the action is closed now, by whomever. */
export async function sendAnswer(
  { executionId, id: actionId }: ActionRequest,
  answer: ActionAnswer,
  onAnswered: OnAnswered,
): Promise<boolean> {
  try {
    onAnswered(await respond(client, { executionId, actionId }, answer));
    return true;
  } catch (error) {
    const { reason, metadata } = toRpcError(error);
    if (reason === ErrorReason.ACTION_ALREADY_RESOLVED) {
      notify(`Already answered${metadata["responder"] ? ` by ${metadata["responder"]}` : ""}`, "bad");
      return true;
    }
    notifyError(error);
    return reason === ErrorReason.ACTION_CLOSED;
  }
}

/** Approves: once, where there are options. */
export async function approve(action: ActionRequest, onAnswered: OnAnswered): Promise<void> {
  if (action.kind !== ActionKind.APPROVAL) return;
  const optionId = optionOf(action, ActionOptionKind.ALLOW_ONCE);
  await sendAnswer(action, optionId === undefined ? { approved: true } : { optionId }, onAnswered);
}

/** Asks, and then denies: once, where there are options. */
export async function deny(action: ActionRequest, onAnswered: OnAnswered): Promise<void> {
  if (action.kind !== ActionKind.APPROVAL) return;
  const title = `Deny “${action.title || "this action"}”?`;
  if ((await confirm({ title, text: action.description, yes: "Deny", no: "Keep waiting" })) === undefined) return;
  const optionId = optionOf(action, ActionOptionKind.REJECT_ONCE);
  await sendAnswer(action, optionId === undefined ? { approved: false } : { optionId }, onAnswered);
}

function optionOf({ options }: ActionRequest, kind: ActionOptionKind): string | undefined {
  return options.find((option) => option.kind === kind)?.id;
}
