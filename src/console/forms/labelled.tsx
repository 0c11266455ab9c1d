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

/** A text of several lines, which grows with what is written. */
export function LongText({
  id,
  hintId,
  value,
  maxLength,
  onInput,
  ...rest
}: {
  readonly id?: string | undefined;
  readonly hintId?: string | undefined;
  readonly value: string;
  readonly maxLength?: number | undefined;
  onInput(value: string): void;
} & Omit<preact.JSX.IntrinsicElements["textarea"], "id" | "value" | "maxLength" | "onInput" | "ref">) {
  const element = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const area = element.current;
    if (area === null) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [value]);
  return (
    <textarea
      rows={1}
      {...rest}
      id={id}
      ref={element}
      dir="auto"
      aria-describedby={hintId}
      value={value}
      {...(maxLength === undefined ? {} : { maxLength })}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}
