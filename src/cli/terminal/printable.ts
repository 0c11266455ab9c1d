/**
 * Everything that moves a cursor, changes colours or rings, and that somebody else's text must not do to a terminal; and
 * what turns the direction of writing, so that a command or a path shows as another than it is.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Returns text without characters that control a terminal, other than line breaks and tabs. */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROL, "");
}

/** Returns text as one line of at most so many characters: an identifier, or what shows as one. */
export function oneLine(text: string, maxLength = 200): string {
  const flat = printable(text).replace(/\s+/g, " ").trim();
  return flat.length <= maxLength ? flat : `${flat.slice(0, maxLength - 1)}…`;
}
