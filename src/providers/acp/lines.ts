/** A line, or the beginning and the end of one that was too long. */
export interface LineOrCut {
  /** The whole line without its end, or the first 4 KiB. */
  readonly text: string;
  /** The last 256 bytes; empty where the line is whole. */
  readonly end: string;
  readonly sizeBytes: number;
}

const BEGINNING_BYTES = 4 * 1024;
const END_BYTES = 256;
const NEWLINE = 0x0a;

/** Splits bytes into lines, those of a chunk at a time. A line longer than `maxBytes` is counted and not kept. */
export async function* splitLines(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<LineOrCut[]> {
  const line = new Line(maxBytes);
  for await (const chunk of bytes) {
    const lines: LineOrCut[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      line.add(chunk.subarray(start, end));
      lines.push(line.take());
      start = end + 1;
    }
    line.add(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  const last = line.take();
  if (last.sizeBytes > 0) yield [last];
}

/** The line that is being read. */
class Line {
  private parts: Uint8Array[] = [];
  private sizeBytes = 0;
  private end: Uint8Array = new Uint8Array();

  constructor(private readonly maxBytes: number) {}

  add(part: Uint8Array): void {
    const before = this.sizeBytes;
    this.sizeBytes += part.length;
    if (this.sizeBytes <= this.maxBytes) {
      this.parts.push(part);
      return;
    }
    const whole = before <= this.maxBytes ? Buffer.concat([...this.parts, part]) : undefined;
    if (whole !== undefined) this.parts = [whole.subarray(0, BEGINNING_BYTES)];
    this.end = Buffer.concat([this.end, (whole ?? part).subarray(-END_BYTES)]).subarray(-END_BYTES);
  }

  take(): LineOrCut {
    const [first = new Uint8Array(), ...more] = this.parts;
    const text = Buffer.from(more.length === 0 ? first : Buffer.concat(this.parts)).toString("utf8");
    const line = { text, end: Buffer.from(this.end).toString("utf8"), sizeBytes: this.sizeBytes };
    this.parts = [];
    this.sizeBytes = 0;
    this.end = new Uint8Array();
    return line;
  }
}
