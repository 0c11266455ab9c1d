import { type Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";

/** An error as the runtime sends it. */
export function refuse(code: Code, reason: string, metadata: Record<string, string> = {}): ConnectError {
  return new ConnectError(reason.toLowerCase(), code, undefined, [
    { desc: ErrorInfoSchema, value: { reason, domain: "harnessruntime", metadata } },
  ]);
}
