import type { JsonValue } from "@bufbuild/protobuf";
import { useState } from "preact/hooks";
import { prettyJson } from "../words/json.js";
import type { FieldInputProps } from "./field-input.js";
import { Labelled, LongText } from "./labelled.js";

/**
 * A value written as JSON. What cannot be read yet is kept as it was typed and is
 * not passed on; {@link isReadable} then says no of the form.
 */
export function JsonInput({ field, name, required, value, onChange }: FieldInputProps) {
  const [typed, setTyped] = useState(() => (value === undefined ? "" : prettyJson(value)));
  const [error, setError] = useState("");
  const current = read(typed);
  // Somebody else changed it: an example was chosen, or the form.
  const stale = "value" in current && JSON.stringify(current.value) !== JSON.stringify(value) && error === "";
  const text = stale ? (value === undefined ? "" : prettyJson(value)) : typed;
  const change = (next: string): void => {
    setTyped(next);
    const parsed = read(next);
    setError("error" in parsed ? parsed.error : "");
    if ("value" in parsed) onChange(parsed.value);
  };
  return (
    <Labelled field={field} name={name} required={required}>
      {(id, hintId) => (
        <>
          <LongText
            id={id}
            hintId={hintId}
            class="code"
            spellcheck={false}
            flaw={error}
            value={text}
            onInput={change}
          />
          {error === "" ? null : (
            <span class="flaw" role="alert">
              {error}
            </span>
          )}
        </>
      )}
    </Labelled>
  );
}

function read(text: string): { readonly value: JsonValue | undefined } | { readonly error: string } {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: JSON.parse(text) as JsonValue };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
