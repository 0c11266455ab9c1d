/**
 * Whoever did the work of an attempt is gone: thrown by a provider's `start` or
 * `run`. An execution that its provider can resume goes on with the next attempt;
 * otherwise, and where nobody is there to take it, it ends FAILED with PROVIDER_LOST.
 */
export class ProviderLostError extends Error {
  override readonly name = "ProviderLostError";
}
