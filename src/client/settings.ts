import { type Clock, systemClock } from "./clock.js";
import { DEFAULT_RETRY, type RetryPolicy } from "./retry.js";

/** How a client waits, retries and names its requests. */
export interface ClientSettings {
  /** When to try again and when to give up. */
  readonly retry: RetryPolicy;
  /** A stream from which nothing came for three of these is cut and opened again. Default 10,000 ms, as the server's. */
  readonly heartbeatIntervalMs: number;
  /**
   * How long one try of a unary call may take, on top of what the call itself
   * waits for. Default 30,000 ms. A call's own `timeoutMs` goes before.
   */
  readonly callTimeoutMs: number;
  /** Names requests that may bear an idempotency key and have none. Default: 128 random bits; false: leaves them without. */
  readonly newIdempotencyKey: (() => string) | false;
  /** The time. Default: the machine's. */
  readonly clock: Clock;
  /** Numbers from 0 to below 1, for the jitter. Default: `Math.random`. */
  readonly random: () => number;
}

/** What a caller may say of {@link ClientSettings}; what is left out has its default. */
export interface ClientSettingsInit extends Partial<Omit<ClientSettings, "retry">> {
  readonly retry?: Partial<RetryPolicy>;
}

/** Fills in the defaults. */
export function toSettings(init: ClientSettingsInit): ClientSettings {
  return {
    heartbeatIntervalMs: init.heartbeatIntervalMs ?? 10_000,
    callTimeoutMs: init.callTimeoutMs ?? 30_000,
    newIdempotencyKey: init.newIdempotencyKey ?? randomKey,
    clock: init.clock ?? systemClock,
    random: init.random ?? Math.random,
    retry: { ...DEFAULT_RETRY, ...init.retry },
  };
}

/** 32 hexadecimal digits. Not `crypto.randomUUID`, which pages from plain http have only on localhost. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
