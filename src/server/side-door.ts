import { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import type { HandlerContext } from "@connectrpc/connect";
import { readsJson, transportedKey } from "./call.js";
import type { Frame } from "./event-frames.js";

/**
 * Writes ready-made frames straight to the HTTP response of a stream, past the
 * RPC library's serializer, generators and per-message promises: about a tenth
 * of the cost (docs/performance.md). The three protocols share the envelope, so
 * one frame serves all of them.
 *
 * It is open while the stream's handler has been asked for its next message and
 * has not yet yielded it: in that time the library writes nothing. So a handler
 * yields its first message, which sends the header, and from then on only writes
 * here; returning or throwing ends the stream the usual way, with its trailer.
 */
export interface SideDoor {
  /** Resolves when the next frame may be written: at once, or when the reader has caught up or is gone. */
  write(frame: Frame): Promise<void> | undefined;
  /** Lets go of whoever waits to write, and writes nothing more. */
  close(): void;
}

/** Opens the side door of a stream; a server whose side door is off has one that opens none. */
export type OpenSideDoor = (context: HandlerContext) => SideDoor | undefined;

/**
 * Returns the stream's side door, or undefined where there is none: in a call
 * without a port, for a reader of JSON, and where the response is compressed.
 */
export function openSideDoor(context: HandlerContext): SideDoor | undefined {
  const response = context.values.get(transportedKey)?.response;
  if (response === undefined || readsJson(context) || isCompressed(context.responseHeader)) return undefined;
  const target: Writable = "stream" in response ? response.stream : response;
  let resume: (() => void) | undefined;
  const wake = (): void => {
    const waiting = resume;
    resume = undefined;
    waiting?.();
  };
  let listening = false;
  let closed = false;
  const listen = (): void => {
    if (listening) return;
    listening = true;
    target.on("drain", wake);
    target.on("close", wake);
    context.signal.addEventListener("abort", wake);
  };
  return {
    write(frame) {
      if (closed || context.signal.aborted || target.destroyed || target.writableEnded) return undefined;
      if (writeFrame(target, frame)) return undefined;
      listen();
      return new Promise<void>((resolve) => {
        resume = resolve;
      });
    },
    close() {
      closed = true;
      wake();
    },
  };
}

/** Returns whether more may be written at once. */
function writeFrame(target: Writable, frame: Frame): boolean {
  if (frame instanceof Uint8Array) return target.write(frame);
  // Corking makes one write of the parts. An HTTP/1.1 response would then promise a `drain` that may never come.
  const corks = !(target instanceof ServerResponse);
  if (corks) target.cork();
  let more = true;
  for (const part of frame) more = target.write(part);
  if (corks) target.uncork();
  return more;
}

function isCompressed(header: Headers): boolean {
  return header.has("grpc-encoding") || header.has("connect-content-encoding");
}
