import type { Caller } from "../core/runtime.js";

/**
 * What a caller may do: `read` executions and their events, `run` them (start,
 * send, cancel, attach), `respond` to actions, and `providers:connect` (connect as a
 * provider).
 */
export const SCOPES = ["read", "run", "respond", "providers:connect"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who calls and what they may do. */
export interface Identity extends Caller {
  readonly scopes: ReadonlySet<Scope>;
}

/** What a request carries to say who sends it. */
export interface Credentials {
  /** The `authorization` field. */
  readonly authorization: string | undefined;
}

/** Tells who calls. Static tokens are one; others may follow. */
export interface Authenticator {
  /** Resolves with the caller, or undefined where credentials are absent, wrong or out of date. */
  authenticate(credentials: Credentials): Promise<Identity | undefined>;
}

/** Everybody, where authentication is off. */
export const LOCAL: Identity = { tenantId: "local", userId: "local", scopes: new Set(SCOPES) };

/** Returns the token of an `authorization: Bearer …` field. */
export function bearerToken({ authorization }: Credentials): string | undefined {
  return /^bearer +([!-~]+) *$/i.exec(authorization ?? "")?.[1];
}
