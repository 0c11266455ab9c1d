import { useState } from "preact/hooks";
import {
  type ActionOption,
  ActionOptionKind,
  type ActionRequest,
} from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { approve, deny, type OnAnswered, sendAnswer } from "./answers.js";

export interface ApprovalAnswersProps {
  readonly action: ActionRequest;
  readonly onAnswered: OnAnswered;
  /** Whether `a` and `d` are about this one. */
  readonly current: boolean;
}

/** The ways to answer an approval: its own options, or yes and no. */
export function ApprovalAnswers({ action, onAnswered, current }: ApprovalAnswersProps) {
  const [busy, setBusy] = useState(false);
  const run = (answer: () => Promise<unknown>) => (): void => {
    setBusy(true);
    void answer().finally(() => setBusy(false));
  };
  const keys = (key: string) => (current ? <kbd>{key}</kbd> : null);
  if (action.options.length > 0) {
    return (
      <div class="buttons">
        {choicesOf(action).map(({ option, verdict, ...approved }) => (
          <button
            type="button"
            key={`${option.id} ${verdict}`}
            class={optionClass(option)}
            disabled={busy}
            onClick={run(() => sendAnswer(action, { optionId: option.id, ...approved }, onAnswered))}
          >
            {verdict}
            <span dir="auto">{option.label || option.id}</span>
            {option === firstOf(action, ActionOptionKind.ALLOW_ONCE) ? keys("a") : null}
            {option === firstOf(action, ActionOptionKind.REJECT_ONCE) ? keys("d") : null}
          </button>
        ))}
      </div>
    );
  }
  return (
    <div class="buttons">
      <button type="button" class="primary" disabled={busy} onClick={run(() => approve(action, onAnswered))}>
        Approve{keys("a")}
      </button>
      <button type="button" disabled={busy} onClick={run(() => deny(action, onAnswered))}>
        Deny{keys("d")}
      </button>
    </div>
  );
}

interface Choice {
  readonly option: ActionOption;
  /** Before the option's own words. */
  readonly verdict: string;
  readonly approved?: boolean;
}

/** What can be chosen: an option that does not say whether it approves can be taken either way. */
function choicesOf({ options }: ActionRequest): readonly Choice[] {
  return options.flatMap((option): readonly Choice[] =>
    option.kind === ActionOptionKind.UNSPECIFIED
      ? [
          { option, verdict: "Approve: ", approved: true },
          { option, verdict: "Deny: ", approved: false },
        ]
      : [{ option, verdict: "" }],
  );
}

function firstOf({ options }: ActionRequest, kind: ActionOptionKind): ActionOption | undefined {
  return options.find((option) => option.kind === kind);
}

function optionClass({ kind }: ActionOption): string {
  return kind === ActionOptionKind.ALLOW_ONCE ? "primary" : "";
}
