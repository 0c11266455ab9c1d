import type { JsonValue } from "@bufbuild/protobuf";
import { useId } from "preact/hooks";
import { CopyButton } from "../parts/copy-button.js";
import { Icon, type IconName } from "../parts/icon.js";
import { JsonView } from "../parts/json-view.js";
import { jsonText, shortJson } from "../words/json.js";
import { readRow, type ToolRow } from "./row.js";

const FIGURES: Readonly<Record<ToolRow["state"], IconName | undefined>> = {
  running: undefined,
  done: "check",
  failed: "cross",
  denied: "stop",
};

/** A tool call: its name and its arguments in a line, its input and output on demand. */
export function ToolRowView({ row }: { readonly row: ToolRow }) {
  const bodyId = useId();
  const { name, toolKind, title, input, output, state, error, open } = readRow(row);
  const figure = FIGURES[state];
  const toggle = (): void => {
    open.value = !open.value;
  };
  return (
    <div class={`tool ${state}`}>
      <button
        type="button"
        class="tool-head"
        aria-expanded={open.value}
        aria-controls={bodyId}
        data-row-focus
        onClick={toggle}
      >
        <span class="figure">
          {figure === undefined ? <span class="spinner" aria-hidden="true" /> : <Icon name={figure} />}
        </span>
        <span class="name">{name || toolKind || "tool"}</span>
        <span class="arguments" dir="auto">
          {title || (input === undefined ? "" : shortJson(input))}
        </span>
        <span class="tool-state">{state}</span>
        <span class={`turn-icon ${open.value ? "open" : ""}`}>
          <Icon name="chevron" />
        </span>
      </button>
      {error === "" ? null : (
        <p class="tool-error" dir="auto">
          {error}
        </p>
      )}
      <div id={bodyId} class="tool-body" hidden={!open.value}>
        {open.value ? (
          <>
            <Part name="Input" value={input} />
            <Part name="Output" value={output} />
          </>
        ) : null}
      </div>
    </div>
  );
}

function Part({ name, value }: { readonly name: string; readonly value: JsonValue | undefined }) {
  return (
    <div class="part">
      <header>
        <h3>{name}</h3>
        {value === undefined ? null : <CopyButton what={`the ${name.toLowerCase()}`} text={() => jsonText(value)} />}
      </header>
      {value === undefined ? <p class="hint">None</p> : <JsonView value={value} />}
    </div>
  );
}
