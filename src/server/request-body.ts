import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError, invalid } from "../core/errors.js";
import { fromHarnessError } from "./errors.js";

type Compression = typeof compressionGzip;

const ENVELOPE_BYTES = 5;
const COMPRESSED = 0b1;

/**
 * Passes a request's body on, and fails with REQUEST_TOO_LARGE as soon as a
 * message in it is known to be over `maxBytes`: before it is read where its
 * length was announced, and never after more than `maxBytes` of it.
 */
export async function* limitBody(
  body: AsyncIterable<Uint8Array>,
  header: Headers,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  const check = isEnveloped(header) ? checkEnvelopes(maxBytes, hasEncoding(header)) : checkTotal(maxBytes);
  for await (const chunk of body) {
    check(chunk);
    yield chunk;
  }
}

/** The error for a message over the limit. */
export function requestTooLarge(maxBytes: number): HarnessError {
  return new HarnessError(ErrorReason.REQUEST_TOO_LARGE, `a request message is at most ${maxBytes} bytes`, {
    max_request_bytes: String(maxBytes),
  });
}

/** Gzip for requests (and, where asked for, responses) whose bombs are REQUEST_TOO_LARGE. */
export const gzip: Compression = {
  name: compressionGzip.name,
  compress: (bytes) => compressionGzip.compress(bytes),
  async decompress(bytes, readMaxBytes) {
    try {
      return await compressionGzip.decompress(bytes, readMaxBytes);
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.ResourceExhausted) {
        throw fromHarnessError(requestTooLarge(readMaxBytes));
      }
      throw new ConnectError("the request is not valid gzip", Code.InvalidArgument, undefined, undefined, error);
    }
  },
};

function compressedWithoutEncoding(): HarnessError {
  return invalid("body", "a message is compressed, but the request names no encoding");
}

function checkTotal(maxBytes: number): (chunk: Uint8Array) => void {
  let total = 0;
  return (chunk) => {
    total += chunk.length;
    if (total > maxBytes) throw fromHarnessError(requestTooLarge(maxBytes));
  };
}

/** Every body but that of a Connect unary call is a row of envelopes. */
function isEnveloped(header: Headers): boolean {
  return /^application\/(?:grpc|connect\+)/i.test(header.get("content-type") ?? "");
}

/** Whether messages may be compressed. */
function hasEncoding(header: Headers): boolean {
  const isConnect = header.get("content-type")?.startsWith("application/connect+");
  const encoding = header.get(isConnect ? "connect-content-encoding" : "grpc-encoding") ?? "";
  return encoding !== "" && encoding !== "identity";
}

/** Follows the envelopes (a byte of flags, four of length, the message) over chunks cut anywhere. */
function checkEnvelopes(maxBytes: number, mayCompress: boolean): (chunk: Uint8Array) => void {
  const head = Buffer.alloc(ENVELOPE_BYTES);
  let headSeen = 0;
  let messageLeft = 0;
  const readHead = (byte: number): void => {
    head[headSeen++] = byte;
    if (headSeen < ENVELOPE_BYTES) return;
    headSeen = 0;
    messageLeft = head.readUInt32BE(1);
    if (!mayCompress && head.readUInt8(0) & COMPRESSED) throw fromHarnessError(compressedWithoutEncoding());
    if (messageLeft > maxBytes) throw fromHarnessError(requestTooLarge(maxBytes));
  };
  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      const skipped = Math.min(messageLeft, chunk.length - at);
      messageLeft -= skipped;
      at += skipped;
      if (at < chunk.length) readHead(chunk[at++] ?? 0);
    }
  };
}

/** Returns what is wrong with the message in the query of a Connect GET, before the RPC library trips over it. */
export function queryFault(url: string): HarnessError | undefined {
  const { searchParams } = new URL(url);
  if (searchParams.get("base64") !== "1") return undefined;
  try {
    base64Decode(searchParams.get("message") ?? "");
    return undefined;
  } catch {
    return invalid("message", "the query's `message` is not base64");
  }
}
