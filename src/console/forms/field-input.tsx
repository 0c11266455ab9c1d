import type { JsonValue } from "@bufbuild/protobuf";
import { useId } from "preact/hooks";
import { Icon } from "../parts/icon.js";
import { type Field, isObject, type Property } from "./field.js";
import { JsonInput } from "./json-input.js";
import { Labelled, LongText } from "./labelled.js";
import { initialValue, newItem, withProperty } from "./value.js";

export interface FieldInputProps<F extends Field = Field> {
  readonly field: F;
  /** What stands for the field where it has no title. */
  readonly name: string;
  readonly required: boolean;
  readonly value: JsonValue | undefined;
  /** Undefined: there is no value. */
  onChange(value: JsonValue | undefined): void;
}

/** One field of a form, whatever its kind. */
export function FieldInput(props: FieldInputProps) {
  const { field, value } = props;
  // What is there does not fit what the form could show: it is kept, as JSON.
  if (!fits(field, value)) return <JsonInput {...props} />;
  switch (field.kind) {
    case "text":
      return <TextInput {...props} field={field} />;
    case "number":
      return <NumberInput {...props} field={field} />;
    case "boolean":
      return <BooleanInput {...props} />;
    case "constant":
      return <ConstantInput {...props} field={field} />;
    case "choice":
      return <ChoiceInput {...props} field={field} />;
    case "object":
      return <ObjectInput {...props} field={field} />;
    case "one of":
      return <OneOfInput {...props} field={field} />;
    case "array":
      return <ArrayInput {...props} field={field} />;
    default:
      return <JsonInput {...props} />;
  }
}

function fits({ kind }: Field, value: JsonValue | undefined): boolean {
  if (value === undefined) return true;
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "object":
    case "one of":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    default:
      return true;
  }
}

type Kind<K extends Field["kind"]> = FieldInputProps<Extract<Field, { kind: K }>>;

function TextInput(props: Kind<"text">) {
  const { field, value, required, onChange } = props;
  const text = typeof value === "string" ? value : "";
  const change = (next: string): void => onChange(next === "" && !required ? undefined : next);
  const { maxLength } = field;
  return (
    <Labelled {...props}>
      {(id, hintId) =>
        field.long ? (
          <LongText id={id} hintId={hintId} value={text} maxLength={maxLength} onInput={change} />
        ) : (
          <input
            id={id}
            dir="auto"
            aria-describedby={hintId}
            value={text}
            {...(maxLength === undefined ? {} : { maxLength })}
            onInput={(event) => change(event.currentTarget.value)}
          />
        )
      }
    </Labelled>
  );
}

function NumberInput(props: Kind<"number">) {
  const { field, value, onChange } = props;
  return (
    <Labelled {...props}>
      {(id, hintId) => (
        <input
          id={id}
          type="number"
          aria-describedby={hintId}
          value={typeof value === "number" ? value : ""}
          min={field.minimum}
          max={field.maximum}
          step={field.integer ? 1 : "any"}
          onInput={(event) => {
            const { valueAsNumber } = event.currentTarget;
            onChange(Number.isNaN(valueAsNumber) ? undefined : valueAsNumber);
          }}
        />
      )}
    </Labelled>
  );
}

function BooleanInput({ field, name, value, required, onChange }: FieldInputProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked ? true : required ? false : undefined)}
      />
      <span dir="auto">{field.title || name}</span>
      {field.description === "" ? null : <span class="hint">{field.description}</span>}
    </label>
  );
}

function ConstantInput({ field, name, value, onChange }: Kind<"constant">) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value !== undefined}
        onChange={(event) => onChange(event.currentTarget.checked ? field.value : undefined)}
      />
      <span dir="auto">{field.title || name}</span>
    </label>
  );
}

function ChoiceInput(props: Kind<"choice">) {
  const { field, value, required, onChange } = props;
  const chosen = field.options.findIndex((option) => JSON.stringify(option.value) === JSON.stringify(value));
  return (
    <Labelled {...props}>
      {(id, hintId) => (
        <select
          id={id}
          aria-describedby={hintId}
          value={String(chosen)}
          onChange={(event) => onChange(field.options[Number(event.currentTarget.value)]?.value)}
        >
          {required && chosen >= 0 ? null : <option value="-1">Not set</option>}
          {field.options.map((option, index) => (
            <option key={option.label} value={String(index)}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

function ObjectInput(props: Kind<"object">) {
  const { field, name, value, onChange } = props;
  return (
    <Group {...props} name={name}>
      <Properties properties={field.properties} value={value} onChange={onChange} />
    </Group>
  );
}

/** The properties of an object, without a frame of their own. */
export function Properties({
  properties,
  value,
  onChange,
}: {
  readonly properties: readonly Property[];
  readonly value: JsonValue | undefined;
  onChange(value: JsonValue): void;
}) {
  return (
    <>
      {properties.map(({ name, required, field }) => (
        <FieldInput
          key={name}
          field={field}
          name={name}
          required={required}
          value={isObject(value) ? value[name] : undefined}
          onChange={(next) => onChange(withProperty(value, name, next))}
        />
      ))}
    </>
  );
}

function OneOfInput(props: Kind<"one of">) {
  const { field, name, value, onChange } = props;
  const id = useId();
  const chosen = field.properties.find((property) => isObject(value) && property.name in value);
  const choose = (next: string): void => {
    const property = field.properties.find((candidate) => candidate.name === next);
    onChange(property === undefined ? undefined : { [property.name]: newItem(property.field) });
  };
  return (
    <div class="one-of">
      <label class="sr-only" for={id}>
        {field.title || `Kind of ${name}`}
      </label>
      <select id={id} value={chosen?.name ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        {chosen === undefined ? <option value="">Choose</option> : null}
        {field.properties.map((property) => (
          <option key={property.name} value={property.name}>
            {property.field.title || property.name}
          </option>
        ))}
      </select>
      {chosen === undefined || chosen.field.kind === "constant" ? null : (
        <FieldInput
          field={chosen.field}
          name={chosen.name}
          required
          value={isObject(value) ? value[chosen.name] : undefined}
          onChange={(next) => onChange({ [chosen.name]: next ?? newItem(chosen.field) })}
        />
      )}
    </div>
  );
}

function ArrayInput(props: Kind<"array">) {
  const { field, name, value, onChange } = props;
  const items = Array.isArray(value) ? value : [];
  const change = (next: readonly JsonValue[]): void =>
    onChange(next.length === 0 && !props.required ? undefined : [...next]);
  const full = field.maxItems !== undefined && items.length >= field.maxItems;
  return (
    <Group {...props} name={name} open={items.length > 0 || props.required}>
      <ol class="items">
        {items.map((item, index) => (
          <li key={index}>
            <FieldInput
              field={field.item}
              name={`${name} ${index + 1}`}
              required
              value={item}
              onChange={(next) => change(items.with(index, next ?? newItem(field.item)))}
            />
            <button
              type="button"
              class="quiet icon-only"
              aria-label={`Remove ${name} ${index + 1}`}
              disabled={items.length <= field.minItems}
              onClick={() => change(items.toSpliced(index, 1))}
            >
              <Icon name="cross" />
            </button>
          </li>
        ))}
      </ol>
      <button type="button" class="quiet" disabled={full} onClick={() => change([...items, newItem(field.item)])}>
        <Icon name="plus" />
        Add to {field.title || name}
      </button>
    </Group>
  );
}

/** Several fields under one name; what is optional and empty is folded away. */
function Group({
  field,
  name,
  required,
  value,
  open = required || value !== undefined || initialValue(field) !== undefined,
  children,
}: Pick<FieldInputProps, "field" | "name" | "required" | "value"> & {
  readonly open?: boolean;
  readonly children: preact.ComponentChildren;
}) {
  return (
    <details class="group" open={open}>
      <summary dir="auto">{field.title || name}</summary>
      {field.description === "" ? null : <p class="hint">{field.description}</p>}
      {children}
    </details>
  );
}
