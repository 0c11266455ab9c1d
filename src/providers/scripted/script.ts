import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ActionOptionKindSchema } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";

/** What each kind of step takes, by the one key of its object. */
export interface StepValues {
  /** Text of the output: one delta, or with `pace_ms` one a word and so many milliseconds before each but the first. */
  readonly text: string | { readonly text: string; readonly pace_ms?: number };
  /** One delta of reasoning. */
  readonly reasoning: string;
  /** A tool call that starts and completes at once. `id` is `call-N` where unset, N being the step's index. */
  readonly tool_call: {
    readonly name: string;
    readonly id?: string;
    readonly kind?: string;
    readonly input?: JsonValue;
    readonly output?: JsonValue;
    readonly error?: string;
  };
  /** Asks for approval. Denied or expired, the execution fails unless `if_denied` is `continue`. `key` is `approval-N` where unset. */
  readonly approval: {
    readonly key?: string;
    readonly title?: string;
    readonly description?: string;
    readonly payload?: JsonObject;
    readonly options?: readonly { readonly id: string; readonly label?: string; readonly kind?: string }[];
    readonly if_denied?: "fail" | "continue";
  };
  /** Asks for a value, which becomes text of the output (JSON where it is no string). `key` is `input-N` where unset. */
  readonly input: { readonly key?: string; readonly title?: string; readonly schema?: JsonObject };
  /** Announces an artifact. `id` is `artifact-N` where unset; nothing else is filled in. */
  readonly artifact: {
    readonly id?: string;
    readonly name?: string;
    readonly media_type?: string;
    readonly uri?: string;
    readonly metadata?: JsonObject;
  };
  /** A model call that used this much: the fields of the contract's Usage. */
  readonly usage: JsonObject;
  /** Waits so many milliseconds. */
  readonly sleep_ms: number;
  /** Waits for a steer, which becomes text of the output. */
  readonly await_steer: true;
  /** Ends the turn as failed, with this message. */
  readonly fail: string;
  /** Throws an error with this message. */
  readonly throw: string;
  /** `count` text deltas of `bytes` bytes each, appended in batches. */
  readonly flood: { readonly count: number; readonly bytes: number };
  /** Emits an event of a kind that only the runtime may append, such as `run.completed`, and swallows the refusal. */
  readonly emit_reserved: string;
  /** From here on, goes on although the turn must end. */
  readonly ignore_abort: true;
  /** The cancel hook of this execution never ends. */
  readonly hang_cancel: true;
  /** Emits a delta after the execution's terminal event. */
  readonly emit_after_end: true;
  /** Opens an action and ends the turn as succeeded without waiting for the answer. */
  readonly return_open_action: true;
  /** Announces the artifact `duplicate` twice, and swallows the refusal. */
  readonly duplicate_artifact: true;
}

/** The key of a step. */
export type StepKind = keyof StepValues;

/** One step: an object with one key. */
export type Step = { readonly [K in StepKind]: { readonly [P in K]: StepValues[K] } }[StepKind];

/** The config of an execution of the provider `scripted`. Empty: the input is echoed word by word. */
export interface Script {
  /** What turn 1 does. Later turns echo their input. */
  readonly steps?: readonly Step[];
  /** Of turn 1. Unset: the joined text, or the echoed input. */
  readonly final_output?: string;
  /** Of turn 1. */
  readonly structured_output?: JsonValue;
}

/** The kinds of events that only the runtime may append, by dotted name. */
export const RESERVED_TYPES: readonly string[] = EventSchema.fields
  .filter(({ oneof, name }) => oneof !== undefined && /^(run|action|input|artifact|completion)_/.test(name))
  .map(({ name }) => name.replaceAll("_", "."));

const STRING: JsonObject = { type: "string" };
const TEXT: JsonObject = { type: "string", minLength: 1 };
const KEY: JsonObject = { type: "string", minLength: 1, maxLength: 200 };
const COUNT: JsonObject = { type: "integer", minimum: 0 };
const TOKENS: JsonObject = { type: "integer", minimum: 0, maximum: 2 ** 31 - 1 };
const TRUE: JsonObject = { const: true };
const ANY: JsonObject = {};
const OBJECT: JsonObject = { type: "object" };

function object(properties: JsonObject, ...required: readonly string[]): JsonObject {
  return { type: "object", properties, required: [...required], additionalProperties: false };
}

const OPTION_KINDS = ActionOptionKindSchema.values.map(({ name }) => name);
const OPTION = object({ id: KEY, label: STRING, kind: { enum: OPTION_KINDS } }, "id");

const STEPS: Readonly<Record<StepKind, JsonObject>> = {
  text: { ...object({ text: TEXT, pace_ms: COUNT }, "text"), type: ["string", "object"], minLength: 1 },
  reasoning: TEXT,
  tool_call: object({ id: KEY, name: TEXT, kind: STRING, input: ANY, output: ANY, error: STRING }, "name"),
  approval: object({
    key: KEY,
    title: STRING,
    description: STRING,
    payload: OBJECT,
    options: { type: "array", items: OPTION },
    if_denied: { enum: ["fail", "continue"] },
  }),
  input: object({ key: KEY, title: STRING, schema: OBJECT }),
  artifact: object({ id: STRING, name: STRING, media_type: STRING, uri: STRING, metadata: OBJECT }),
  usage: object({
    prompt_tokens: TOKENS,
    completion_tokens: TOKENS,
    total_tokens: TOKENS,
    cached_tokens: TOKENS,
    reasoning_tokens: TOKENS,
    model_calls: TOKENS,
    tool_calls: TOKENS,
    cost: object({ currency: STRING, micros: { type: "integer" } }, "currency", "micros"),
  }),
  sleep_ms: COUNT,
  await_steer: TRUE,
  fail: STRING,
  throw: STRING,
  flood: object(
    { count: { ...COUNT, maximum: 100_000_000 }, bytes: { type: "integer", minimum: 1, maximum: 2 ** 20 } },
    "count",
    "bytes",
  ),
  emit_reserved: { enum: [...RESERVED_TYPES] },
  ignore_abort: TRUE,
  hang_cancel: TRUE,
  emit_after_end: TRUE,
  return_open_action: TRUE,
  duplicate_artifact: TRUE,
};

/** Every key that a step may have. */
export const STEP_KINDS: readonly string[] = Object.keys(STEPS);

/** The JSON Schema of a {@link Script}: an unknown or ill-typed key anywhere in it is refused. */
export const SCRIPT_SCHEMA: JsonObject = object({
  steps: {
    type: "array",
    items: {
      type: "object",
      properties: STEPS as JsonObject,
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
    },
  },
  final_output: STRING,
  structured_output: ANY,
});

/** Splits `text` after each word's white space; joined, the parts are `text` again. None for the empty text. */
export function wordsOf(text: string): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}
