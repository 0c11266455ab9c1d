import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { ServerLimits } from "./limits.js";

/** The open HTTP/2 connections of one server. */
export interface SessionTracker {
  add(session: ServerHttp2Session): void;
  /** Tells every client to open no more streams; a connection closes as its last stream ends. */
  drain(): void;
  /** Ends every connection at once. */
  close(): void;
}

/** An open connection. */
interface Watched {
  /** The bytes that it had sent when it was last looked at. */
  bytesRead: number;
  pinged: boolean;
  openStreams: number;
  /** Those of {@link openStreams} whose request goes on after its header fields, although only a POST has more to say. */
  readonly unended: Set<ServerHttp2Stream>;
  /** When its last stream ended, or when it was opened; by `performance.now`. */
  idleSinceMs: number;
}

/**
 * Keeps the open connections, because a server's own `close` leaves idle ones
 * open before Node 24, and pings those that are silent, because HTTP/2 in Node
 * has no keep-alive of its own: a connection that sends nothing for
 * `pingIntervalMs` is pinged, and destroyed when it is still silent after as
 * long again. One that only answers pings is told to go away after
 * `idleConnectionTimeoutMs` without a stream: a client opens another for its
 * next call. A stream counts until both sides ended it, so one whose answer is
 * over is closed where its request is not.
 */
export function trackSessions({
  pingIntervalMs,
  idleConnectionTimeoutMs,
}: Pick<ServerLimits, "pingIntervalMs" | "idleConnectionTimeoutMs">): SessionTracker {
  const sessions = new Map<ServerHttp2Session, Watched>();
  let draining = false;

  const look = (): void => {
    const idleBeforeMs = performance.now() - idleConnectionTimeoutMs;
    for (const [session, watched] of sessions) {
      for (const stream of watched.unended) closeIfAnswered(stream);
      if (watched.openStreams === 0 && watched.idleSinceMs <= idleBeforeMs) session.close();
      else lookAt(session, watched);
    }
  };
  const timer = setInterval(look, pingIntervalMs);
  timer.unref();

  return {
    add(session) {
      const watched: Watched = {
        bytesRead: 0,
        pinged: false,
        openStreams: 0,
        unended: new Set(),
        idleSinceMs: performance.now(),
      };
      sessions.set(session, watched);
      const ended = (): void => {
        watched.openStreams--;
        watched.idleSinceMs = performance.now();
      };
      session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
        watched.openStreams++;
        stream.once("close", ended);
        if (stream.endAfterHeaders || headers[":method"] === "POST") return;
        watched.unended.add(stream);
        stream.once("close", () => watched.unended.delete(stream));
      });
      session.once("close", () => sessions.delete(session));
      if (draining) session.close();
    },
    drain() {
      draining = true;
      for (const session of sessions.keys()) session.close();
    },
    close() {
      clearInterval(timer);
      for (const session of sessions.keys()) session.destroy();
    },
  };
}

/** Node does so itself where the answer has a body, and the RPC library where it has trailers. */
function closeIfAnswered(stream: ServerHttp2Stream): void {
  const { localClose, remoteClose } = stream.state;
  if (localClose === 1 && remoteClose === 0) stream.close(constants.NGHTTP2_NO_ERROR);
}

function lookAt(session: ServerHttp2Session, watched: Watched): void {
  const bytesRead = session.socket?.bytesRead ?? 0;
  if (bytesRead !== watched.bytesRead) {
    watched.bytesRead = bytesRead;
    watched.pinged = false;
  } else if (watched.pinged) {
    session.destroy();
  } else if (!session.destroyed && !session.closed) {
    // The answer shows as bytes read; a ping that fails ends the connection, which is then no longer tracked.
    watched.pinged = session.ping(() => undefined);
  }
}
