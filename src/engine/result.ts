import type { ChatMessage, TokenUsage } from "./message.js";

/**
 * How a turn or a run ended. `stopped` is a budget's or a policy's end: what there
 * is of the text is kept. `awaiting_input` is only a driver's way to ask the caller
 * for more, and never how a run ends.
 */
export type HarnessStatus = "completed" | "failed" | "cancelled" | "stopped" | "awaiting_input";

/** Why a run ended as it did. */
export interface HarnessReason {
  /** One of {@link REASON_CODES}; anything else that a driver gives becomes `execution_failed`. */
  readonly code: string;
  readonly message: string;
}

/** Every code of a {@link HarnessReason} that a result can have. */
export const REASON_CODES = [
  "execution_failed",
  "cancelled",
  "budget_exhausted",
  "revision_limit",
  "policy_stopped",
  "deadline_exceeded",
  "action_timeout",
  "output_too_large",
  "session_conflict",
  "provider_protocol_violation",
  "provider_lost",
  "provider_start_timeout",
  "runtime_restarted",
] as const;

/** One of {@link REASON_CODES}. */
export type ReasonCode = (typeof REASON_CODES)[number];

/** The codes with which a run counts as `stopped` rather than `failed`. */
export const STOP_CODES: readonly ReasonCode[] = ["budget_exhausted", "revision_limit", "policy_stopped"];

/** Returns whether `code` is one of {@link REASON_CODES}. */
export function isReasonCode(code: unknown): code is ReasonCode {
  return (REASON_CODES as readonly unknown[]).includes(code);
}

/** An artifact that a driver lists, by the id that `putArtifact` gave. */
export interface HarnessArtifactRef {
  readonly id: string;
  readonly mimeType?: string;
}

/** What a driver returns for one turn. */
export interface HarnessDriverOutput {
  /** Default `completed`. */
  status?: HarnessStatus;
  /** The turn's text; the question where the status is `awaiting_input`. */
  text: string;
  /** A JSON value of at most 64 KiB. */
  structured?: unknown;
  reason?: HarnessReason;
  /** The turn's usage, where the driver called models outside of the services. */
  usage?: TokenUsage;
  /** The whole history; must begin with the canonical one exactly. */
  history?: readonly ChatMessage[];
  artifacts?: readonly { id: string; mimeType?: string }[];
}

/** What became of a run that another one started. */
export interface HarnessChildResult {
  readonly runId: string;
  readonly status: Exclude<HarnessStatus, "awaiting_input">;
  readonly text: string;
  readonly structured?: unknown;
  readonly reason?: HarnessReason;
  readonly usage: TokenUsage;
}

/** What became of a run. */
export interface HarnessResult {
  readonly status: Exclude<HarnessStatus, "awaiting_input">;
  /** The last turn's text, or what there was of it; cut to 4,096 characters where it was over 64 KiB (see `artifacts`). */
  readonly text: string;
  readonly structured?: unknown;
  readonly artifacts?: readonly HarnessArtifactRef[];
  /** Set unless the status is `completed`. */
  readonly reason?: HarnessReason;
  readonly usage: TokenUsage;
  readonly runId: string;
  readonly sessionId: string;
  /** The sequence of the terminal event. */
  readonly finalCursor: number;
  /** What could not be ended, disposed or stored; none of it changed the outcome. */
  readonly cleanupDiagnostics?: readonly string[];
}
