import { Icon } from "./icon.js";
import { notify } from "./notices.js";

/** Copies a text, and says so. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(`Copied ${what}`);
  } catch {
    // Pages from plain http to another machine have no clipboard.
    notify(`This browser lets no page copy here. ${what}: ${text}`, "bad");
  }
}

export interface CopyButtonProps {
  /** Returns what to copy when the button is pressed. */
  text(): string;
  /** What it is, as in "Copied the id". */
  readonly what: string;
  /** Shown beside the icon; without it the button has the icon only. */
  readonly label?: string;
}

export function CopyButton({ text, what, label }: CopyButtonProps) {
  const copy = (): void => void copyText(text(), what);
  return (
    <button
      type="button"
      class={label === undefined ? "quiet icon-only" : "quiet"}
      aria-label={label === undefined ? `Copy ${what}` : undefined}
      title={`Copy ${what}`}
      onClick={copy}
    >
      <Icon name="copy" />
      {label}
    </button>
  );
}
