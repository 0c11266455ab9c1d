import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** How long the rest of a refused HTTP/1.1 request may take, in milliseconds, before its connection is given up. */
const DISCARD_MS = 200;
/** A longer rest is not worth waiting for, in bytes. */
const DISCARD_BYTES = 256 * 1024;
/** How long a client that still sends has to read the answer, in milliseconds. */
const LINGER_MS = 500;

/**
 * Makes room for the answer to an HTTP/1.1 request that is refused while its
 * body still comes: HTTP/1.1 cannot stop one. A short rest is read and thrown
 * away, which keeps the connection; resolves with false where it is not over
 * soon, and then the connection must be closed after the answer.
 */
export async function discardRest(request: IncomingMessage): Promise<boolean> {
  if (request.complete) return true;
  if (Number(request.headers["content-length"] ?? 0) > DISCARD_BYTES) return false;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, DISCARD_MS);
    request.once("close", resolve);
    request.once("end", () => {
      clearTimeout(timer);
      resolve();
    });
    request.resume();
  });
  return request.complete;
}

/**
 * Closes the connection in two steps once the answer is written: at once in our
 * direction, later in the other, because a client whose bytes are refused by
 * its system may never see the answer.
 */
export function lingerAfterAnswer(request: IncomingMessage, socket: Socket): void {
  socket.destroySoon = () => {
    socket.end(() => setTimeout(() => socket.destroy(), LINGER_MS).unref());
  };
  request.resume();
}
