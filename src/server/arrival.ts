import type { DescMethod } from "@bufbuild/protobuf";
import { type HarnessError, invalid } from "../core/errors.js";
import { lasts } from "./call.js";
import { type Drain, serverDraining } from "./drain.js";
import { endable } from "./endable.js";
import { fromHarnessError } from "./errors.js";
import type { NodeRequest } from "./listener.js";

/** What bounds the arrival of a request. */
export interface ArrivalBounds {
  /** How long a request of one message may take to arrive, in milliseconds. */
  readonly timeoutMs: number;
  readonly drain: Drain;
}

/**
 * Returns the body of a call that takes one message, so that it cannot be awaited
 * for ever: it fails with VALIDATION_ERROR where it takes too long to arrive and,
 * where the call would last, with SERVER_DRAINING once the server goes away.
 * HTTP/2 in Node has no bound of its own, and HTTP/1.1 one that tells no reason.
 * A stream of messages is left as it is: after its first it may be silent for as long as it likes.
 */
export function boundArrival(
  body: AsyncIterable<Uint8Array>,
  method: DescMethod,
  request: NodeRequest,
  { timeoutMs, drain }: ArrivalBounds,
): AsyncIterable<Uint8Array> {
  if (request.complete || (method.methodKind !== "unary" && method.methodKind !== "server_streaming")) return body;
  const { message, end } = endable(body);
  const timer = setTimeout(() => end(fromHarnessError(tooSlow(timeoutMs))), timeoutMs);
  const forget = lasts(method) ? drain.onBegin(() => end(fromHarnessError(serverDraining()))) : undefined;
  const arrived = (): void => {
    clearTimeout(timer);
    forget?.();
  };
  request.once("end", arrived);
  request.once("close", arrived);
  return message;
}

/** What a caller is told whose message did not come. */
export function tooSlow(timeoutMs: number): HarnessError {
  return invalid("request", `did not arrive within ${timeoutMs / 1_000} s: send it again`);
}
