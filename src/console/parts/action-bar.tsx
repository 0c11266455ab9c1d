import { ActionKind, type ActionRequest } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { executionHref } from "../route.js";
import { oneLine, shortJson } from "../words/json.js";
import type { OnAnswered } from "./answers.js";
import { ApprovalAnswers } from "./approval-answers.js";
import { Icon } from "./icon.js";

/** An action that waits, in a line, where something else has the room; its title leads to the whole of it. */
export function ActionBar({ action, onAnswered }: { readonly action: ActionRequest; readonly onAnswered: OnAnswered }) {
  const { executionId, kind, title, description, payload } = action;
  const approval = kind === ActionKind.APPROVAL;
  const facts = description || (payload === undefined ? "" : shortJson(payload));
  return (
    <article class="action-bar" aria-label={title || "Action"}>
      <span class="figure tone-attention">
        <Icon name="bang" />
      </span>
      <p>
        <a href={executionHref(executionId)} dir="auto">
          {title || (approval ? "May it go on?" : "It asks for a value")}
        </a>{" "}
        <span class="hint" dir="auto">
          {oneLine(facts)}
        </span>
      </p>
      {approval ? (
        <ApprovalAnswers action={action} onAnswered={onAnswered} current />
      ) : (
        <a class="button primary" href={executionHref(executionId)}>
          Answer
        </a>
      )}
    </article>
  );
}
