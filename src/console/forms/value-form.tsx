import type { JsonValue } from "@bufbuild/protobuf";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Field, hasForm } from "./field.js";
import { FieldInput, Properties } from "./field-input.js";
import { JsonInput } from "./json-input.js";
import type { Flaw } from "./value.js";

export interface ValueFormProps {
  readonly field: Field;
  /** What the value is, where the schema has no title. */
  readonly name: string;
  readonly value: JsonValue | undefined;
  readonly flaws?: readonly Flaw[];
  onChange(value: JsonValue | undefined): void;
}

/** A value that fits a schema: as a form, or as JSON for those who prefer it. */
export function ValueForm({ field, name, value, flaws = [], onChange }: ValueFormProps) {
  const [asJson, setAsJson] = useState(false);
  const formable = hasForm(field);
  return (
    <div class="value-form">
      {formable ? (
        <div class="segments end" role="group" aria-label={`Write ${name} as`}>
          <button type="button" aria-pressed={!asJson} onClick={() => setAsJson(false)}>
            Form
          </button>
          <button type="button" aria-pressed={asJson} onClick={() => setAsJson(true)}>
            JSON
          </button>
        </div>
      ) : null}
      {asJson || !formable ? (
        <JsonInput
          field={{ ...field, kind: "json" }}
          name={`${name} as JSON`}
          required={false}
          value={value}
          onChange={onChange}
        />
      ) : field.kind === "object" ? (
        <Properties properties={field.properties} value={value} onChange={onChange} />
      ) : (
        <FieldInput field={field} name={name} required value={value} onChange={onChange} />
      )}
      {flaws.length === 0 ? null : <Flaws flaws={flaws} />}
    </div>
  );
}

/** What is wrong, which a long form may have out of sight: it is brought into view. */
function Flaws({ flaws }: { readonly flaws: readonly Flaw[] }) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => list.current?.scrollIntoView({ block: "nearest" }), [flaws]);
  return (
    <ul ref={list} class="flaws" role="alert">
      {flaws.map(({ path, text }) => (
        <li key={path}>
          {path === "" ? null : <code>{path}</code>} {text}
        </li>
      ))}
    </ul>
  );
}
