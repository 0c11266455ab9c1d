import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Dialog } from "./dialog.js";

/** A question before something that cannot be taken back. */
export interface Question {
  readonly title: string;
  readonly text?: string;
  /** What the button that goes on says. */
  readonly yes: string;
  readonly no: string;
  /** Asks for a reason of at most so many characters. */
  readonly reasonLength?: number;
}

interface Asked extends Question {
  answer(reason: string | undefined): void;
}

const asked = signal<Asked | undefined>(undefined);

/** Asks. Resolves with the reason given, maybe empty; with undefined where the answer is no. */
export async function confirm(question: Question): Promise<string | undefined> {
  asked.peek()?.answer(undefined);
  return await new Promise((resolve) => {
    const mine: Asked = {
      ...question,
      answer(reason) {
        // A dialog may say that it was closed when the next one is already open.
        if (asked.peek() === mine) asked.value = undefined;
        resolve(reason);
      },
    };
    asked.value = mine;
  });
}

/** Shows the question that is open. */
export function Confirm() {
  const question = asked.value;
  return question === undefined ? null : <QuestionDialog key={question.title} question={question} />;
}

function QuestionDialog({ question }: { readonly question: Asked }) {
  const [reason, setReason] = useState("");
  const { title, text, yes, no, reasonLength, answer } = question;
  return (
    <Dialog title={title} class="confirm" onClose={() => answer(undefined)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          answer(reason);
        }}
      >
        {text === undefined ? null : <p dir="auto">{text}</p>}
        {reasonLength === undefined ? null : (
          <label class="field">
            <span class="label">Reason (may be empty)</span>
            <input
              dir="auto"
              value={reason}
              maxLength={reasonLength}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </label>
        )}
        <div class="buttons end">
          <button type="button" onClick={() => answer(undefined)}>
            {no}
          </button>
          <button type="submit" class="danger" autoFocus>
            {yes}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
