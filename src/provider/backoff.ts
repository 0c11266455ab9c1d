/** How long to wait between tries to connect. */
export interface BackoffLimits {
  /** Before the second try at most, in milliseconds. */
  readonly minMs: number;
  /** Before any try at most, in milliseconds. */
  readonly maxMs: number;
}

/**
 * Returns how long to wait before try number `tries` (from 1), in milliseconds:
 * anywhere between nothing and a bound that doubles with each try, so that many
 * providers that lost the same runtime do not come back at once.
 */
export function backoffMs(tries: number, { minMs, maxMs }: BackoffLimits, random: () => number): number {
  return Math.round(random() * Math.min(minMs * 2 ** (tries - 1), maxMs));
}
