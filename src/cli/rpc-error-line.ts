import { Code } from "@connectrpc/connect";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessRpcError } from "../client/errors.js";

/** What to do about it, where the server's message does not say. */
const WAYS_OUT: { readonly [K in ErrorReason]?: string } = {
  [ErrorReason.UNAUTHENTICATED]:
    "name a token with --token or HARNESS_TOKEN; npx harness token create makes one, with the server's --data or --config",
  [ErrorReason.PERMISSION_DENIED]: "use a token whose scopes allow it",
  [ErrorReason.PROVIDER_NOT_FOUND]: "npx harness providers lists them",
  [ErrorReason.ACTION_NOT_FOUND]: "npx harness actions lists those that are open",
  [ErrorReason.INTERNAL]: "the server's log has more under this id",
};

/** The same for NOT_FOUND, by what was not found. */
const WAYS_TO_FIND: Readonly<Record<string, string>> = {
  execution: "npx harness list lists executions",
  conversation: "leave --conversation out to begin a new one",
};

/** What HTTP/2, TLS and HTTP say of a server that is of another kind. */
const FOREIGN = /Protocol error|wrong version number|EPROTO|unsupported content type.*|HTTP 40[45]/;

/** Says why a call failed and what to do about it, in one line. */
export function rpcErrorLine(error: Error): string {
  if (!(error instanceof HarnessRpcError)) return error.message;
  if (error.reason === ErrorReason.UNSPECIFIED) return withoutReason(error);
  const wayOut = WAYS_OUT[error.reason] ?? wayToFind(error);
  const violations = error.violations.map(({ field, description }) => `${field}: ${description}`);
  const text = violations.length > 1 ? violations.join("; ") : error.rawMessage;
  return `${ErrorReason[error.reason]}: ${text}${wayOut === undefined ? "" : `; ${wayOut}`}`;
}

function wayToFind({ reason, metadata }: HarnessRpcError): string | undefined {
  return reason === ErrorReason.NOT_FOUND ? WAYS_TO_FIND[metadata["resource"] ?? ""] : undefined;
}

function withoutReason({ code, message }: HarnessRpcError): string {
  const unreachable = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ECONNRESET|ETIMEDOUT|EHOSTUNREACH/.exec(message)?.[0];
  const foreign = FOREIGN.exec(message)?.[0];
  if (unreachable === undefined && foreign !== undefined) {
    return `what answers is no Harness Runtime, or one of the two has TLS and the other has not (${foreign}): check --url`;
  }
  if (unreachable === undefined) return `${Code[code]}: ${message}`;
  return `no runtime answers (${message}): start one with npm start, or name another with --url`;
}
