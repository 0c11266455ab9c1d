import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import { unreadable } from "./errors.js";

/**
 * Sees to it that a unary request that cannot be decoded is the caller's fault.
 * The RPC library decodes it outside of all interceptors, but aborts the call's
 * signal with the error before it writes it: there the error is amended.
 */
export function amendUnreadable({ signal }: HandlerContext): void {
  signal.addEventListener("abort", () => {
    if (!(signal.reason instanceof ConnectError)) return;
    const amended = unreadable(signal.reason);
    if (amended === undefined) return;
    const { code, rawMessage, message, details } = amended;
    Object.assign(signal.reason, { code, rawMessage, message, details });
  });
}
