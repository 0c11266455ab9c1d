// The load: bare HTTP/2 streams that read and count, so that the client is never what is measured.
import * as http2 from "node:http2";
import { play } from "../peer.js";

/** Streams to open, all with the same request. */
export interface Opening {
  readonly url: string;
  readonly path: string;
  /** The enveloped request, in base64. */
  readonly body: string;
  readonly contentType?: string;
  readonly connections: number;
  readonly streamsEach: number;
  /** False: the response is never read. Default true. */
  readonly reads?: boolean;
  /** Whether to note how old the stamped texts are. */
  readonly stamped?: boolean;
}

interface Reader {
  readonly stream: http2.ClientHttp2Stream;
  readonly ended: Promise<void>;
}

const WINDOW_BYTES = 16 * 1024 * 1024;
const STAMP = /\d{10,20} \d+ x/g;

const sessions: http2.ClientHttp2Session[] = [];
const readers: Reader[] = [];
const agesMs: number[] = [];
let bytes = 0;

async function connect(url: string, windowBytes: number): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(url, { settings: { initialWindowSize: windowBytes, enablePush: false } });
  session.on("error", () => undefined);
  await new Promise<void>((resolve) => session.once("connect", () => resolve()));
  if (windowBytes > 65_535) session.setLocalWindowSize(windowBytes);
  sessions.push(session);
  return session;
}

function request(session: http2.ClientHttp2Session, { path, body, contentType }: Opening): http2.ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": contentType ?? "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  stream.end(Buffer.from(body, "base64"));
  return stream;
}

function noteAges(chunk: Buffer): void {
  const now = process.hrtime.bigint();
  for (const [stamp] of chunk.toString("latin1").matchAll(STAMP)) {
    agesMs.push(Number(now - BigInt(stamp.slice(0, stamp.indexOf(" ")))) / 1e6);
  }
}

/** Opens one stream; resolves when its first bytes are there. */
async function open(session: http2.ClientHttp2Session, opening: Opening): Promise<void> {
  const stream = request(session, opening);
  const ended = new Promise<void>((resolve) => stream.once("close", () => resolve()));
  readers.push({ stream, ended });
  if (opening.reads === false) {
    await new Promise<void>((resolve) => stream.once("response", () => resolve()));
    return;
  }
  await new Promise<void>((resolve) => {
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (opening.stamped === true) noteAges(chunk);
      resolve();
    });
  });
}

play({
  async open(opening: Opening): Promise<void> {
    const windowBytes = opening.reads === false ? 65_535 : WINDOW_BYTES;
    for (let index = 0; index < opening.connections; index++) {
      const session = await connect(opening.url, windowBytes);
      await Promise.all(Array.from({ length: opening.streamsEach }, () => open(session, opening)));
    }
  },
  /** Waits for the end of all streams that are open; returns the bytes and, in ms, the ages of what came. */
  async ended(): Promise<{ bytes: number; agesMs: readonly number[] }> {
    await Promise.all(readers.map(({ ended }) => ended));
    return { bytes, agesMs };
  },
  /** Reads one stream from start to end; returns its bytes and how long it took. */
  async readOnce(opening: Opening): Promise<{ bytes: number; ms: number }> {
    const session = await connect(opening.url, WINDOW_BYTES);
    const began = performance.now();
    const stream = request(session, opening);
    let count = 0;
    stream.on("data", (chunk: Buffer) => {
      count += chunk.length;
    });
    await new Promise<void>((resolve) => stream.once("close", () => resolve()));
    const ms = performance.now() - began;
    session.destroy();
    return { bytes: count, ms };
  },
  /** Makes `calls` calls, `inFlight` at a time; returns how long they took. */
  async unary({ calls, inFlight, ...opening }: Opening & { calls: number; inFlight: number }): Promise<number> {
    const session = await connect(opening.url, WINDOW_BYTES);
    let left = calls;
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const stream = request(session, opening);
        stream.resume();
        await new Promise<void>((resolve) => stream.once("close", () => resolve()));
      }
    };
    const began = performance.now();
    await Promise.all(Array.from({ length: inFlight }, worker));
    const ms = performance.now() - began;
    session.destroy();
    return ms;
  },
  close(): void {
    for (const session of sessions.splice(0)) session.destroy();
    readers.length = 0;
    agesMs.length = 0;
    bytes = 0;
  },
});
