import type { Interceptor } from "@connectrpc/connect";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../core/errors.js";
import type { Authenticator } from "./auth.js";
import { type End, endable } from "./endable.js";

/**
 * Ends streams with UNAUTHENTICATED whose credentials expired or were revoked
 * since they were opened: every `intervalMs` the credentials of all open streams
 * are looked at again. Credentials that cannot be looked at now are left until
 * the next time.
 */
export function endLapsed(authenticator: Authenticator, intervalMs: number): Interceptor {
  const open = new Map<string, Set<End>>();
  let armed = false;
  const arm = (): void => {
    if (armed || open.size === 0) return;
    armed = true;
    const again = (): void => {
      armed = false;
      arm();
    };
    setTimeout(() => void look().then(again), intervalMs).unref();
  };
  const look = async (): Promise<void> => {
    for (const [authorization, streams] of open) {
      if (await isLapsed(authenticator, authorization)) for (const end of streams) end(unauthenticated());
    }
  };
  const add = (authorization: string, end: End): (() => void) => {
    const streams = open.get(authorization) ?? new Set();
    open.set(authorization, streams.add(end));
    arm();
    return () => {
      streams.delete(end);
      if (streams.size === 0 && open.get(authorization) === streams) open.delete(authorization);
    };
  };
  return (next) => async (request) => {
    const response = await next(request);
    if (!response.stream || request.signal.aborted) return response;
    const { message, end } = endable(response.message);
    const forget = add(request.header.get("authorization") ?? "", end);
    request.signal.addEventListener("abort", forget, { once: true });
    return { ...response, message };
  };
}

async function isLapsed(authenticator: Authenticator, authorization: string): Promise<boolean> {
  try {
    return (await authenticator.authenticate({ authorization })) === undefined;
  } catch {
    return false;
  }
}

function unauthenticated(): HarnessError {
  return new HarnessError(
    ErrorReason.UNAUTHENTICATED,
    "the stream's credentials are not valid any more: open it again with others",
  );
}
