/** A text cut to a limit. */
export interface CutText {
  readonly text: string;
  readonly truncated: boolean;
}

/** Cuts `text` to at most `maxBytes` of UTF-8, at a code-point boundary. Half a surrogate pair, which UTF-8 has no form for, becomes U+FFFD. */
export function cutText(raw: string, maxBytes: number): CutText {
  const text = raw.toWellFormed();
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return { text, truncated: false };
  return { text: text.slice(0, prefixLength(text, 0, maxBytes)), truncated: true };
}

/** Splits `text` into pieces of at most `maxBytes` of UTF-8 (at least 4), at code-point boundaries. */
export function splitText(text: string, maxBytes: number): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = prefixLength(text, start, maxBytes);
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

/** The index after the longest run of whole code points from `start` that fits `maxBytes`. */
function prefixLength(text: string, start: number, maxBytes: number): number {
  let leftBytes = maxBytes;
  let index = start;
  while (index < text.length) {
    const point = text.codePointAt(index) ?? 0;
    leftBytes -= utf8Size(point);
    if (leftBytes < 0) break;
    index += point > 0xffff ? 2 : 1;
  }
  return index;
}

function utf8Size(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
