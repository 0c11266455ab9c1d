import type { DescMethod } from "@bufbuild/protobuf";
import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { Health } from "../../gen/ts/grpc/health/v1/health_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { HarnessError } from "../core/errors.js";
import type { Identity } from "./auth.js";
import type { NodeResponse } from "./listener.js";

/** What the port knows of a call beyond the RPC itself. */
export interface Transported {
  /** The Node response that the call's frames leave by. */
  readonly response: NodeResponse;
  /** Why the request is refused before anybody looks at it: by where it comes from, or because it cannot be read. */
  readonly fault: HarnessError | undefined;
}

/** Unset in calls that do not come over a port. */
export const transportedKey = createContextKey<Transported | undefined>(undefined);

/** Set by the gate, for every method that is not public. */
export const identityKey = createContextKey<Identity | undefined>(undefined);

/** Returns who calls. Only for methods that ask for credentials. */
export function callerOf(context: Pick<HandlerContext, "values">): Identity {
  const identity = context.values.get(identityKey);
  if (identity === undefined) throw new HarnessError(ErrorReason.UNAUTHENTICATED, "no credentials");
  return identity;
}

/** Whether the caller reads JSON and not the binary form. */
export function readsJson({ requestHeader, url, requestMethod }: HandlerContext): boolean {
  if (requestMethod === "GET") return new URL(url).searchParams.get("encoding") === "json";
  return /^application\/(?:json|(?:connect|grpc|grpc-web)\+json)\b/i.test(requestHeader.get("content-type") ?? "");
}

/** Whether a call would hold up a shutdown. */
export function lasts(method: DescMethod): boolean {
  if (method.parent === Health) return false;
  return method.methodKind !== "unary" || method === ExecutionService.method.waitExecution;
}
