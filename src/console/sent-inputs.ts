import { signal } from "@preact/signals";

/** How many inputs are remembered. */
const REMEMBERED = 200;

const sent = signal<ReadonlyMap<string, string>>(new Map());

/** Remembers the text of an input that this page sent: the log has its digest only. */
export function rememberInput(inputId: string, text: string): void {
  sent.value = new Map([...sent.value, [inputId, text] as const].slice(-REMEMBERED));
}

/** The text of an input; empty where another page or program sent it. */
export function sentText(inputId: string): string {
  return sent.value.get(inputId) ?? "";
}
