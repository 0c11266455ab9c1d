import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** One call, or as many of it at once as `parallel` says, in words that every language's client understands. */
export interface Question {
  readonly url: string;
  readonly protocol: string;
  /** The bearer token; none when it is empty. */
  readonly token: string;
  /** Such as `ExecutionService`. */
  readonly service: string;
  readonly method: string;
  /** Protobuf's JSON. */
  readonly requests: readonly JsonObject[];
  /** A stream is left after the first event that has this field, such as `action_required`. */
  readonly until?: string;
  readonly parallel?: number;
}

/** What came of one call, as Protobuf's JSON with the fields' own names. */
export interface Outcome {
  readonly responses: readonly JsonObject[];
  /** The size of each response. */
  readonly bytes: readonly number[];
  readonly error?: {
    /** Such as `NOT_FOUND`. */
    readonly code: string;
    /** Each with its `type`, such as `google.rpc.ErrorInfo`. */
    readonly details: readonly JsonObject[];
  };
}

/** Asks a client of some language over some protocol. */
export type Ask = (question: Question) => Promise<readonly Outcome[]>;

/** The event types of the outcome's frames, in order; dotted. */
export function eventsOf({ responses }: Outcome): { readonly type: string; readonly data: JsonValue }[] {
  return responses
    .flatMap((frame) => [frame, frame["events"]])
    .flatMap((frame) => (isObject(frame) && Array.isArray(frame["events"]) ? frame["events"] : []))
    .filter(isObject)
    .map(payloadOf);
}

const ENVELOPE = ["execution_id", "sequence", "time", "attempt", "turn"];

function payloadOf(event: JsonObject): { readonly type: string; readonly data: JsonValue } {
  const [field = "", data = null] = Object.entries(event).find(([key]) => !ENVELOPE.includes(key)) ?? [];
  return { type: field.replaceAll("_", "."), data };
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
