/**
 * Who a run works for. Trusted host input: the engine never takes it from a
 * model, a tool or a message. Both parts are not empty.
 */
export interface HarnessIdentity {
  readonly tenantId: string;
  readonly userId: string;
}

/** `plan` works out what to do and changes nothing: see {@link ExecutionPolicy}. */
export type RunMode = "execute" | "plan";

/**
 * When an input that is sent to a live run takes effect: `follow_up` as the next
 * turn, `steer` within the current one, `replace` instead of it.
 */
export type HarnessSendMode = "follow_up" | "steer" | "replace";

/** Every {@link HarnessSendMode}. */
export const SEND_MODES: readonly HarnessSendMode[] = ["follow_up", "steer", "replace"];

/** Returns whether a value is a {@link RunMode}. */
export function isRunMode(value: unknown): value is RunMode {
  return value === "execute" || value === "plan";
}

/** Returns one string for a session of one user of one tenant; different sessions never share one. */
export function sessionKey(identity: HarnessIdentity, sessionId: string): string {
  return JSON.stringify([identity.tenantId, identity.userId, sessionId]);
}
