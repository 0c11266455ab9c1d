/**
 * A provider broke the contract: nothing of it is appended, it is thrown inside
 * the provider, and the execution ends FAILED with PROVIDER_PROTOCOL_VIOLATION
 * even where the provider swallows it.
 */
export class ProtocolViolationError extends Error {
  override readonly name = "ProtocolViolationError";
}
