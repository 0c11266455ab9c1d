import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Field } from "./field.js";

/** An input with its name above and its hint below; gets the ids that tie them together. */
export function Labelled({
  field,
  name,
  required,
  children,
}: {
  readonly field: Pick<Field, "title" | "description">;
  readonly name: string;
  readonly required: boolean;
  children(id: string, hintId: string | undefined): ComponentChildren;
}) {
  const id = useId();
  const hintId = field.description === "" ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label class="label" for={id} dir="auto">
        {field.title || name}
        {required ? null : <span class="optional"> optional</span>}
      </label>
      {children(id, hintId)}
      {hintId === undefined ? null : (
        <span class="hint" id={hintId} dir="auto">
          {field.description}
        </span>
      )}
    </div>
  );
}

/** A text of several lines, which grows with what is written. `flaw` says why it cannot be read. */
export function LongText({
  id,
  hintId,
  value,
  maxLength,
  flaw = "",
  onInput,
  ...rest
}: {
  readonly id?: string | undefined;
  readonly hintId?: string | undefined;
  readonly value: string;
  readonly maxLength?: number | undefined;
  readonly flaw?: string;
  onInput(value: string): void;
} & Omit<preact.JSX.IntrinsicElements["textarea"], "id" | "value" | "maxLength" | "onInput" | "ref">) {
  const element = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const area = element.current;
    if (area === null) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [value]);
  useLayoutEffect(() => element.current?.setCustomValidity(flaw), [flaw]);
  return (
    <textarea
      rows={1}
      {...rest}
      id={id}
      ref={element}
      dir="auto"
      aria-describedby={hintId}
      aria-invalid={flaw !== ""}
      value={value}
      {...(maxLength === undefined ? {} : { maxLength })}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

/** Whether everything written in a form can be read; shows what cannot, and gives it the focus. */
export function isReadable(form: HTMLFormElement): boolean {
  for (const element of form.elements) {
    if (!(element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement)) continue;
    const { customError, badInput } = element.validity;
    if (!customError && !badInput) continue;
    for (let around = element.closest("details"); around !== null; ) {
      around.open = true;
      around = around.parentElement?.closest("details") ?? null;
    }
    element.focus();
    return false;
  }
  return true;
}
