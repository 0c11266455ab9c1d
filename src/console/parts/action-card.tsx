import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { useMemo, useState } from "preact/hooks";
import { ActionKind, type ActionRequest } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { parseField } from "../forms/field.js";
import { isReadable } from "../forms/labelled.js";
import { type Flaw, findFlaws, initialValue } from "../forms/value.js";
import { ValueForm } from "../forms/value-form.js";
import { executionHref } from "../route.js";
import { shortJson } from "../words/json.js";
import { type OnAnswered, sendAnswer } from "./answers.js";
import { ApprovalAnswers } from "./approval-answers.js";
import { Icon } from "./icon.js";
import { JsonView } from "./json-view.js";
import { Ago } from "./times.js";

export interface ActionCardProps {
  readonly action: ActionRequest;
  readonly onAnswered: OnAnswered;
  /** Whether it says whose it is: not where the execution itself is shown. */
  readonly withExecution?: boolean;
  /** Whether `a` and `d` are about this one. */
  readonly current?: boolean;
}

/** An action that waits, with everything it takes to decide and to answer. */
export function ActionCard({ action, onAnswered, withExecution = false, current = false }: ActionCardProps) {
  const approval = action.kind === ActionKind.APPROVAL;
  return (
    <article
      class={`action-card ${approval ? "" : "asks"} ${current ? "current" : ""}`}
      aria-label={action.title || "Action"}
    >
      <header>
        <span class="badge tone-attention">
          <span class="figure">
            <Icon name="bang" />
          </span>
          {approval ? "Approval" : "Input"}
        </span>
        <span class="meta">
          <Ago time={action.createTime} />
          {action.expireTime === undefined ? null : (
            <>
              {" · expires "}
              <Ago time={action.expireTime} />
            </>
          )}
        </span>
        {withExecution ? (
          <a class="meta end" href={executionHref(action.executionId)} data-row-focus>
            {action.executionId}
          </a>
        ) : null}
      </header>
      <h3 dir="auto">{action.title || (approval ? "May it go on?" : "It asks for a value")}</h3>
      {action.description === "" ? null : (
        <p class="description" dir="auto">
          {action.description}
        </p>
      )}
      <Payload payload={action.payload} />
      {approval ? (
        <ApprovalAnswers action={action} onAnswered={onAnswered} current={current} />
      ) : (
        <InputAnswer action={action} onAnswered={onAnswered} />
      )}
    </article>
  );
}

/** The facts to decide by: short ones as a table, others as JSON. */
function Payload({ payload }: { readonly payload: JsonObject | undefined }) {
  const entries = Object.entries(payload ?? {});
  if (entries.length === 0) return null;
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{isShort(value) ? <code dir="auto">{shortJson(value, 400)}</code> : <JsonView value={value} />}</dd>
        </div>
      ))}
    </dl>
  );
}

function isShort(value: JsonValue | undefined): boolean {
  return typeof value !== "object"
    ? String(value).length < 400 && !String(value).includes("\n")
    : JSON.stringify(value).length < 80;
}

function InputAnswer({ action, onAnswered }: Pick<ActionCardProps, "action" | "onAnswered">) {
  const field = useMemo(() => parseField(action.inputSchema), [action.inputSchema]);
  const [value, setValue] = useState<JsonValue | undefined>(() => initialValue(field));
  const [flaws, setFlaws] = useState<readonly Flaw[]>([]);
  const [busy, setBusy] = useState(false);
  // With no schema any text will do; JSON is for those who need more.
  const anything = action.inputSchema === undefined;
  const send = async (): Promise<void> => {
    const answer = value ?? (anything ? "" : null);
    const found = findFlaws(field, answer);
    setFlaws(found);
    if (found.length > 0) return;
    setBusy(true);
    await sendAnswer(action, { value: fromJson(ValueSchema, answer) }, onAnswered);
    setBusy(false);
  };
  return (
    <form
      class="answer"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (isReadable(event.currentTarget)) void send();
      }}
    >
      <ValueForm field={anything ? ANY_TEXT : field} name="answer" value={value} flaws={flaws} onChange={setValue} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          Send answer
        </button>
      </div>
    </form>
  );
}

const ANY_TEXT = parseField({ type: "string", title: "Answer" });
