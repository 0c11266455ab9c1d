import type { ServerHttp2Session } from "node:http2";

/** The open HTTP/2 connections of one server. */
export interface SessionTracker {
  add(session: ServerHttp2Session): void;
  /** Tells every client to open no more streams; a connection closes as its last stream ends. */
  drain(): void;
  /** Ends every connection at once. */
  close(): void;
}

/** The bytes that a silent connection had sent when it was last looked at. */
interface Watched {
  bytesRead: number;
  pinged: boolean;
}

/**
 * Keeps the open connections, because a server's own `close` leaves idle ones
 * open before Node 24, and pings those that are silent, because HTTP/2 in Node
 * has no keep-alive of its own: a connection that sends nothing for
 * `pingIntervalMs` is pinged, and destroyed when it is still silent after as
 * long again.
 */
export function trackSessions(pingIntervalMs: number): SessionTracker {
  const sessions = new Map<ServerHttp2Session, Watched>();
  let draining = false;

  const look = (): void => {
    for (const [session, watched] of sessions) lookAt(session, watched);
  };
  const timer = setInterval(look, pingIntervalMs);
  timer.unref();

  return {
    add(session) {
      sessions.set(session, { bytesRead: 0, pinged: false });
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
