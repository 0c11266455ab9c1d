/** Where the JSON of `text` is wrong, as `line 1, column 7`. `text` must be no JSON. */
export function jsonPlace(text: string): string {
  // The longest beginning that could still go on to be JSON ends where the fault is.
  let [good, bad] = [0, text.length];
  while (good < bad) {
    const middle = Math.ceil((good + bad) / 2);
    if (mayGoOn(text.slice(0, middle))) good = middle;
    else bad = middle - 1;
  }
  const lines = text.slice(0, good).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** Whether a text is JSON, or is wrong only at its end. */
function mayGoOn(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    const position = /at position (\d+)/.exec(message)?.[1];
    return /^Un(expected end|terminated string)/.test(message) || Number(position) === text.length;
  }
}
