import { base64Decode } from "@bufbuild/protobuf/wire";
import { type HarnessError, invalid } from "../core/errors.js";

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
