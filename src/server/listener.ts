import * as http from "node:http";
import * as http2 from "node:http2";
import * as net from "node:net";
import * as tls from "node:tls";
import type { Log } from "../core/provider.js";
import type { ServerLimits } from "./limits.js";
import { type SessionTracker, trackSessions } from "./sessions.js";

export type NodeRequest = http.IncomingMessage | http2.Http2ServerRequest;
export type NodeResponse = http.ServerResponse | http2.Http2ServerResponse;

/** PEM texts of a server certificate and its key. */
export interface TlsOptions {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Unset: plaintext. */
  readonly tls?: TlsOptions | undefined;
  readonly limits: ServerLimits;
  readonly log: Log;
  onRequest(request: NodeRequest, response: NodeResponse): void;
}

/** One open port that speaks HTTP/1.1 and HTTP/2. */
export interface Listener {
  readonly port: number;
  /** Accepts no more connections and closes those that are idle; the rest close as their last request ends. */
  drain(): void;
  /** Ends everything at once; resolves when the port is free and no connection is left. */
  close(): Promise<void>;
}

/** What every HTTP/2 connection by prior knowledge begins with. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Opens the port. Which protocol a connection speaks is told by its first bytes, or by ALPN under TLS. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { limits, log } = options;
  const h1 = createHttp1(options);
  const sessions = trackSessions(limits);
  const h2 = createHttp2(options, sessions);
  const sockets = new Set<net.Socket>();

  const take = (socket: net.Socket, protocol: "h1" | "h2"): void => {
    (protocol === "h2" ? h2 : h1).emit("connection", socket);
  };
  const accept = (socket: net.Socket): void => {
    socket.on("error", (error) => {
      log.debug({ error: error.message }, "connection failed");
      socket.destroy();
    });
    if (socket instanceof tls.TLSSocket) take(socket, socket.alpnProtocol === "h2" ? "h2" : "h1");
    else sniff(socket, limits.firstByteTimeoutMs, take);
  };
  const front = createFront(options, accept);
  // Before `accept`, which under TLS waits for the handshake.
  front.prependListener("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  front.maxConnections = limits.maxConnections;
  await open(front, options);
  // The inner HTTP/1.1 server never listens itself; this starts its timeouts for slow requests.
  h1.emit("listening");

  const stop = (): void => {
    if (front.listening) front.close();
    h1.closeIdleConnections();
  };
  return {
    port: addressPort(front),
    drain() {
      stop();
      sessions.drain();
    },
    async close() {
      const closed = front.listening ? new Promise((resolve) => front.once("close", resolve)) : undefined;
      stop();
      sessions.close();
      for (const socket of sockets) socket.destroy();
      h1.close();
      h2.close();
      await closed;
    },
  };
}

/** Reads a plaintext connection's first bytes, gives them back, and says which protocol they begin. */
function sniff(socket: net.Socket, timeoutMs: number, take: (socket: net.Socket, protocol: "h1" | "h2") => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const expire = (): void => {
    socket.destroy();
  };
  const look = (bytes: Buffer): void => {
    seen = seen.length === 0 ? bytes : Buffer.concat([seen, bytes]);
    const length = Math.min(seen.length, PREFACE.length);
    const http2Preface = seen.subarray(0, length).equals(PREFACE.subarray(0, length));
    if (http2Preface && length < PREFACE.length) return;
    socket.off("data", look);
    socket.off("timeout", expire);
    socket.setTimeout(0);
    socket.pause();
    socket.unshift(seen);
    take(socket, http2Preface ? "h2" : "h1");
    if (!http2Preface) socket.resume();
  };
  socket.setTimeout(timeoutMs);
  socket.on("timeout", expire);
  socket.on("data", look);
}

function createHttp1({ limits, onRequest }: ListenerOptions): http.Server {
  const server = http.createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      noDelay: true,
      // A client that is gone without a word is found by the kernel.
      keepAlive: true,
      keepAliveInitialDelay: limits.pingIntervalMs,
    },
    onRequest,
  );
  return server;
}

function createHttp2({ limits, log, onRequest }: ListenerOptions, sessions: SessionTracker): http2.Http2Server {
  const server = http2.createServer(
    {
      maxSessionMemory: Math.ceil(limits.sessionMemoryBytes / (1024 * 1024)),
      settings: {
        maxConcurrentStreams: limits.maxConcurrentStreams,
        initialWindowSize: limits.streamWindowBytes,
        maxHeaderListSize: limits.maxHeaderBytes,
        enablePush: false,
      },
    },
    onRequest,
  );
  server.on("session", (session) => {
    session.setLocalWindowSize(limits.connectionWindowBytes);
    sessions.add(session);
  });
  server.on("sessionError", (error: Error) => log.debug({ error: error.message }, "HTTP/2 connection failed"));
  return server;
}

function createFront({ tls: certificate, limits, log }: ListenerOptions, accept: (socket: net.Socket) => void) {
  if (certificate === undefined) return net.createServer({ noDelay: true }, accept);
  const server = tls.createServer(
    {
      cert: certificate.cert,
      key: certificate.key,
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: limits.firstByteTimeoutMs,
      minVersion: "TLSv1.2",
      noDelay: true,
    },
    accept,
  );
  server.on("tlsClientError", (error: Error, socket: tls.TLSSocket) => {
    log.debug({ error: error.message }, "TLS handshake failed");
    socket.destroy();
  });
  return server;
}

async function open(server: net.Server, { host, port }: ListenerOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(told(error, host, port));
    server.once("error", fail);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

/** The system's error, with its code, in words that name the way out. */
function told(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const messages: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is in use; give another one as port, or 0 for a free one`,
    EADDRNOTAVAIL: `${host} is no address of this machine; give another one as host`,
    EACCES: `port ${port} may not be used by this user; give another one as port`,
  };
  const message = messages[error.code ?? ""];
  return message === undefined ? error : Object.assign(new Error(message, { cause: error }), { code: error.code });
}

function addressPort(server: net.Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("a TCP server has a port");
  return address.port;
}
