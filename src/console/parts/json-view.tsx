import type { JsonValue } from "@bufbuild/protobuf";
import { jsonText } from "../words/json.js";
import { count } from "../words/quantity.js";

/** So much of a JSON text is shown; the rest can be copied. */
const SHOWN = 32_768;
/** What is longer may have to be scrolled, also by keyboard. */
const SCROLLS = 1_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

/** JSON over several lines, with its names and values told apart. */
export function JsonText({ text }: { readonly text: string }) {
  const shown = text.slice(0, SHOWN);
  const rest = text.length - shown.length;
  return (
    <pre class="json" dir="ltr" tabIndex={shown.length > SCROLLS ? 0 : undefined}>
      {paint(shown)}
      {rest > 0 ? <span class="more">{`\n… ${count(rest)} more characters: copy it to have them all`}</span> : null}
    </pre>
  );
}

export function JsonView({ value }: { readonly value: JsonValue | undefined }) {
  return <JsonText text={jsonText(value)} />;
}

function paint(text: string) {
  const parts: (string | preact.JSX.Element)[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [token, quoted, colon] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + token.length;
    if (colon !== undefined) parts.push(<span class="name">{quoted}</span>, colon);
    else parts.push(<span class={quoted === undefined ? "value" : "string"}>{token}</span>);
  }
  parts.push(text.slice(end));
  return parts;
}
