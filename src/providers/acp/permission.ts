import { createHash } from "node:crypto";
import { ActionKind, ActionOptionKind } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { cutText } from "../../core/cut-text.js";
import type { ActionAnswer, ActionInit } from "../../core/provider.js";
import { boundedObject, type Fields, fieldsOf, listOf, textOf } from "./json.js";

/** One way that an agent offers to answer its question. */
export interface PermissionChoice {
  readonly id: string;
  readonly label: string;
  readonly kind: ActionOptionKind;
}

const KINDS: Readonly<Record<string, ActionOptionKind>> = {
  allow_once: ActionOptionKind.ALLOW_ONCE,
  allow_always: ActionOptionKind.ALLOW_ALWAYS,
  reject_once: ActionOptionKind.REJECT_ONCE,
  reject_always: ActionOptionKind.REJECT_ALWAYS,
};
/** Their sum stays below what an action may hold. */
const TITLE_BYTES = 500;
const PAYLOAD_BYTES = 40 * 1024;
const MOST_CHOICES = 20;

/** Reads the options of a `session/request_permission`; one of an unknown kind, or with the ID of another, is left out. */
export function choicesOf(params: Fields): PermissionChoice[] {
  const choices = listOf(params["options"])
    .slice(0, MOST_CHOICES)
    .flatMap(({ optionId, name, kind }) => {
      const [id, known] = [textOf(optionId), KINDS[String(kind)]];
      return id === undefined || known === undefined
        ? []
        : [{ id, label: cutText(textOf(name) ?? id, 200).text, kind: known }];
    });
  return choices.filter(({ id }, index) => choices.findIndex((other) => other.id === id) === index);
}

/**
 * Returns the action for a question. Its key is made of what is asked for and
 * of how often that was asked in this turn, not of the agent's ids: after a
 * crash the agent asks again with others.
 */
export function toAction(
  params: Fields,
  choices: readonly PermissionChoice[],
  turn: number,
  occurrence: number,
): ActionInit {
  const call = fieldsOf(params["toolCall"]);
  const title = textOf(call["title"]) ?? textOf(call["kind"]) ?? "Tool call";
  return {
    key: `permission:${turn}:${subjectOf(params)}:${occurrence}`,
    kind: ActionKind.APPROVAL,
    title: cutText(title, TITLE_BYTES).text,
    payload: boundedObject(
      {
        tool_call_id: call["toolCallId"],
        kind: call["kind"],
        input: call["rawInput"],
        content: call["content"],
        locations: call["locations"],
      },
      PAYLOAD_BYTES,
    ),
    options: choices,
    providerRef: cutText(textOf(call["toolCallId"]) ?? "", 200).text,
  };
}

/** A digest of what a question is about. */
export function subjectOf(params: Fields): string {
  const { title, kind, rawInput } = fieldsOf(params["toolCall"]);
  const subject = JSON.stringify([title ?? null, kind ?? null, rawInput ?? null]);
  return createHash("sha256").update(subject).digest("hex").slice(0, 24);
}

/**
 * Returns the option that an answer means; undefined where none of them does,
 * and the question is then answered as cancelled. What was not named is never
 * more than once: a plain yes is not `allow_always`.
 */
export function choose(choices: readonly PermissionChoice[], answer: ActionAnswer): PermissionChoice | undefined {
  const ofKind = (kind: ActionOptionKind) => choices.find((choice) => choice.kind === kind);
  const named = choices.find((choice) => choice.id === answer.optionId);
  if (named !== undefined && !answer.expired) return named;
  if (answer.approved && !answer.expired && answer.optionId === "") {
    const once = ofKind(ActionOptionKind.ALLOW_ONCE);
    if (once !== undefined) return once;
  }
  return ofKind(ActionOptionKind.REJECT_ONCE);
}

/** Whether taking this option lets the call happen. */
export function allows(choice: PermissionChoice | undefined): boolean {
  return choice?.kind === ActionOptionKind.ALLOW_ONCE || choice?.kind === ActionOptionKind.ALLOW_ALWAYS;
}
