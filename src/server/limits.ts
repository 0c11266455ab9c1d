import { MAX_REQUEST_BYTES } from "../core/limits.js";

/** Bounds on what one server accepts and keeps. An operator may set each. */
export interface ServerLimits {
  /** The largest request message, after decompression; a larger one is REQUEST_TOO_LARGE. Default 1 MiB. */
  readonly maxRequestBytes: number;
  /** The largest response message. Default 3 MiB. */
  readonly maxResponseBytes: number;
  /** The request line and header fields of one request. Default 16 KiB. */
  readonly maxHeaderBytes: number;
  /** Open connections; further ones are closed at once. Default 10,000. */
  readonly maxConnections: number;
  /** Open streams of one HTTP/2 connection; further ones are refused. Default 250. */
  readonly maxConcurrentStreams: number;
  /** What a client may send on one HTTP/2 stream before it is read. Default 256 KiB. */
  readonly streamWindowBytes: number;
  /** The same for a whole HTTP/2 connection. Default 1 MiB. */
  readonly connectionWindowBytes: number;
  /** The memory that one HTTP/2 connection may hold. Default 32 MiB. */
  readonly sessionMemoryBytes: number;
  /** How long a new connection may say nothing. Default 10,000 ms. */
  readonly firstByteTimeoutMs: number;
  /** How long the header fields of an HTTP/1.1 request may take. Default 20,000 ms. */
  readonly headersTimeoutMs: number;
  /** How long a whole request of one message, and the first message of AttachExecution, may take to arrive. Default 60,000 ms. */
  readonly requestTimeoutMs: number;
  /** How long an HTTP/1.1 connection stays open between requests. Default 65,000 ms. */
  readonly keepAliveTimeoutMs: number;
  /**
   * How long an HTTP/2 connection may be silent before it is pinged, and then how long it may stay
   * silent before it is closed: a client that is gone keeps nothing for more than twice this. Default 20,000 ms.
   */
  readonly pingIntervalMs: number;
  /**
   * How long an HTTP/2 connection may have no stream before it is closed, although its client answers pings; told
   * every `pingIntervalMs`. Default 600,000 ms.
   */
  readonly idleConnectionTimeoutMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_LIMITS: ServerLimits = {
  maxRequestBytes: MAX_REQUEST_BYTES,
  maxResponseBytes: 3 * MIB,
  maxHeaderBytes: 16 * KIB,
  maxConnections: 10_000,
  maxConcurrentStreams: 250,
  streamWindowBytes: 256 * KIB,
  connectionWindowBytes: MIB,
  sessionMemoryBytes: 32 * MIB,
  firstByteTimeoutMs: 10_000,
  headersTimeoutMs: 20_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  pingIntervalMs: 20_000,
  idleConnectionTimeoutMs: 600_000,
};
