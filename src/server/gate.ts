import type { DescMethod } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { HarnessError } from "../core/errors.js";
import { type Authenticator, type Identity, LOCAL } from "./auth.js";
import { identityKey, lasts, transportedKey } from "./call.js";
import { type Drain, serverDraining } from "./drain.js";
import type { ErrorConverter } from "./errors.js";
import type { MethodScope } from "./scopes.js";
import { amendUnreadable } from "./unreadable.js";

export interface GateOptions {
  /** Unset: everybody is {@link LOCAL}. */
  readonly authenticator: Authenticator | undefined;
  readonly scopes: ReadonlyMap<DescMethod, MethodScope>;
  readonly drain: Drain;
  readonly errors: ErrorConverter;
}

/**
 * Decides whether a call goes on before any of its body is read: by where it
 * comes from, by who calls and what they may do, and by whether the server is
 * going away.
 */
export function createGate(options: GateOptions): (context: HandlerContext) => Promise<void> | undefined {
  return (context) => {
    if (context.method.methodKind === "unary") amendUnreadable(context);
    const refuse = (error: unknown): never => {
      throw options.errors.toRpcError(error, context.method.name);
    };
    try {
      return admit(context, options)?.catch(refuse);
    } catch (error) {
      return refuse(error);
    }
  };
}

/** Takes a turn of the event loop only where credentials must be looked up. */
function admit(context: HandlerContext, { authenticator, scopes, drain }: GateOptions): Promise<void> | undefined {
  const fault = context.values.get(transportedKey)?.fault;
  if (fault !== undefined) throw fault;
  const scope = scopes.get(context.method);
  if (scope === "public") return undefined;
  if (authenticator !== undefined) {
    return identify(context, authenticator).then((identity) => authorize(context, identity, scope, drain));
  }
  authorize(context, LOCAL, scope, drain);
  return undefined;
}

function authorize(context: HandlerContext, identity: Identity, scope: MethodScope | undefined, drain: Drain): void {
  if (scope === undefined || (scope !== "authenticated" && scope !== "public" && !identity.scopes.has(scope))) {
    throw new HarnessError(
      ErrorReason.PERMISSION_DENIED,
      `${context.method.name} needs the scope ${scope ?? "that nobody has"}`,
      { scope: scope ?? "" },
    );
  }
  context.values.set(identityKey, identity);
  if (drain.begun && lasts(context.method)) throw serverDraining();
}

async function identify(context: HandlerContext, authenticator: Authenticator): Promise<Identity> {
  const authorization = context.requestHeader.get("authorization") ?? undefined;
  const identity = await authenticator.authenticate({ authorization });
  if (identity !== undefined) return identity;
  context.responseHeader.set("www-authenticate", "Bearer");
  throw new HarnessError(
    ErrorReason.UNAUTHENTICATED,
    authorization === undefined
      ? "no credentials: send `authorization: Bearer TOKEN`"
      : "the credentials are not valid, or no longer",
  );
}
