import type { FailureReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { messageOf as words } from "../core/message-of.js";
import type { ToolDenial } from "./tool.js";

/** A model or token budget is used up; uncaught, the run ends `stopped`. */
export class HarnessBudgetError extends Error {
  override readonly name = "HarnessBudgetError";
  readonly code = "budget_exhausted";
}

/** What was asked for needs something that this driver, store or model does not have. */
export class HarnessUnsupportedError extends Error {
  override readonly name = "HarnessUnsupportedError";
  readonly code = "unsupported";
  /** What was asked for, such as `replace`. */
  readonly operation: string;

  constructor(operation: string, why?: string) {
    super(why === undefined ? `${operation} is not supported` : `${operation} is not supported: ${why}`);
    this.operation = operation;
  }
}

/** A viewer fell behind the events that are kept; go on with `events({ after: earliestCursor })`. */
export class HarnessEventGapError extends Error {
  override readonly name = "HarnessEventGapError";
  readonly code = "event_gap";
  /** The lowest cursor from which every later event is still there. */
  readonly earliestCursor: number;

  constructor(earliestCursor: number) {
    super(`the events up to ${earliestCursor} are no longer kept; go on after ${earliestCursor}`);
    this.earliestCursor = earliestCursor;
  }
}

/** An effect was not run: thrown by `dispatchEffect`. */
export class HarnessDenialError extends Error {
  override readonly name = "HarnessDenialError";
  readonly code = "denied";
  readonly denial: ToolDenial;
  readonly toolName: string;

  constructor(toolName: string, denial: ToolDenial, why: string) {
    super(why);
    this.toolName = toolName;
    this.denial = denial;
  }
}

/** A rule of the engine was broken in a way that ends the run with this reason, also where the driver catches it. */
export class RunFailure extends Error {
  override readonly name = "RunFailure";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Returns an error's message; never empty. */
export function messageOf(error: unknown): string {
  return words(error) || (error instanceof Error && error.name) || "an error with no message";
}
