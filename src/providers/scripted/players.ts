import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { ActionKind, ActionOptionSchema } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import { UsageSchema } from "../../../gen/ts/harnessruntime/v1/usage_pb.js";
import type { ProviderEvent, TurnOutcome } from "../../core/provider.js";
import { type Step, type StepKind, type StepValues, wordsOf } from "./script.js";
import type { Stage } from "./stage.js";

/** Plays one kind of step; returns an outcome where it ends the turn. */
type Player<K extends StepKind> = (stage: Stage, value: StepValues[K]) => Promise<TurnOutcome | undefined>;

/** The most events and bytes of text that are emitted at once, so that a long text or flood neither waits for each event nor fills the memory. */
const BATCH_EVENTS = 256;
const BATCH_BYTES = 256 * 1024;

/** Kinds that go on within the step after a crash. Any other that has emitted anything is over. */
const DIVISIBLE: ReadonlySet<StepKind> = new Set(["text", "flood"]);

const PLAYERS: { readonly [K in StepKind]: Player<K> } = {
  async text(stage, value) {
    if (typeof value === "string") return playWords(stage, [value], 0);
    const paceMs = value.pace_ms ?? 0;
    return playWords(stage, paceMs > 0 ? wordsOf(value.text) : [value.text], paceMs);
  },
  reasoning: (stage, text) => once(stage, { case: "outputReasoningDelta", value: { text } }),
  async tool_call(stage, { id, name, kind, input, output, error }) {
    const call = { toolCallId: id ?? `call-${stage.step}`, name, kind: kind ?? "" };
    const started: ProviderEvent = { case: "toolCallStarted", value: { ...call, input: toValue(input) } };
    const completed = { ...call, output: toValue(output), error: error ?? "" };
    return once(stage, started, { case: "toolCallCompleted", value: completed });
  },
  async approval(stage, { key, title, description, payload, options, if_denied }) {
    stage.save();
    const name = key ?? `approval-${stage.step}`;
    const answer = await stage.context.requestAction({
      key: name,
      kind: ActionKind.APPROVAL,
      title: title ?? "May the script go on?",
      options: (options ?? []).map((option) => fromJson(ActionOptionSchema, { ...option })),
      ...(description === undefined ? {} : { description }),
      ...(payload === undefined ? {} : { payload }),
    });
    if (answer.approved || if_denied === "continue") return undefined;
    return { status: "failed", message: `the approval ${JSON.stringify(name)} was denied` };
  },
  async input(stage, { key, title, schema }) {
    stage.save();
    const { value } = await stage.context.requestAction({
      key: key ?? `input-${stage.step}`,
      kind: ActionKind.INPUT,
      title: title ?? "What shall the script say?",
      ...(schema === undefined ? {} : { inputSchema: schema }),
    });
    if (value === undefined) return undefined;
    return say(stage, typeof value === "string" ? value : JSON.stringify(value));
  },
  async artifact(stage, { id, name, media_type, uri, metadata }) {
    const descriptor = {
      id: id ?? `artifact-${stage.step}`,
      name: name ?? "",
      mediaType: media_type ?? "",
      ...(uri === undefined ? {} : { uri }),
      ...(metadata === undefined ? {} : { metadata }),
    };
    await stage.append(() => stage.context.artifact(descriptor), 1);
    return undefined;
  },
  async usage(stage, value) {
    const usage = fromJson(UsageSchema, value);
    if (usage.totalTokens === 0) usage.totalTokens = usage.promptTokens + usage.completionTokens;
    return once(stage, {
      case: "modelCompleted",
      value: { provider: "scripted", model: "script", role: "main", usage },
    });
  },
  async sleep_ms(stage, delayMs) {
    await stage.sleep(delayMs);
    return undefined;
  },
  async await_steer(stage) {
    const steer = await stage.nextSteer();
    stage.checkAborted();
    return steer === undefined ? undefined : say(stage, steer.text);
  },
  fail: async (_stage, message) => ({ status: "failed", message }),
  async throw(_stage, message) {
    throw new Error(message);
  },
  async flood(stage, { count, bytes }) {
    const batch = Math.max(1, Math.min(BATCH_EVENTS, Math.floor(BATCH_BYTES / bytes)));
    while (stage.part < count) {
      const first = stage.part;
      const events = Array.from({ length: Math.min(batch, count - first) }, (_, index) => {
        return delta(`${first + index} `.padEnd(bytes, "x").slice(0, bytes));
      });
      await stage.emit(events, events.length);
    }
    return undefined;
  },
  async emit_reserved(stage, type) {
    const name = type.replace(/\.(.)/g, (_, letter: string) => letter.toUpperCase());
    // The port's types refuse what this step is there to try.
    const event = { case: name, value: {} } as unknown as ProviderEvent;
    return swallow(() => stage.emit([event], 1));
  },
  async ignore_abort(stage) {
    stage.ignoresAbort = true;
    return undefined;
  },
  hang_cancel: async () => undefined,
  emit_after_end: async () => undefined,
  async return_open_action(stage) {
    stage.save();
    const request = { key: `open-${stage.step}`, kind: ActionKind.APPROVAL, title: "Left open" } as const;
    stage.context.requestAction(request).catch(() => undefined);
    return { status: "succeeded" };
  },
  async duplicate_artifact(stage) {
    const descriptor = { id: "duplicate", name: "duplicate", mediaType: "text/plain" };
    await stage.append(() => stage.context.artifact(descriptor), 1);
    return swallow(() => stage.context.artifact(descriptor));
  },
};

/** Plays the stage's current step, or what an earlier attempt left of it. */
export async function playStep(stage: Stage, step: Step): Promise<TurnOutcome | undefined> {
  for (const [kind, value] of Object.entries(step)) {
    const player = PLAYERS[kind as StepKind] as Player<StepKind>;
    if (stage.part > 0 && !DIVISIBLE.has(kind as StepKind)) return undefined;
    return player(stage, value as StepValues[StepKind]);
  }
  return undefined;
}

/** Emits each word as a delta, in batches, or with a pace one at a time with so many milliseconds between. */
export async function playWords(stage: Stage, words: readonly string[], paceMs: number): Promise<undefined> {
  const batch = paceMs > 0 ? 1 : BATCH_EVENTS;
  while (stage.part < words.length) {
    if (paceMs > 0 && stage.part > 0) await stage.sleep(paceMs);
    const events = words.slice(stage.part, stage.part + batch).map(delta);
    await stage.emit(events, events.length);
  }
}

async function once(stage: Stage, ...events: readonly ProviderEvent[]): Promise<undefined> {
  await stage.emit(events, 1);
}

async function say(stage: Stage, text: string): Promise<undefined> {
  if (text !== "") await once(stage, delta(text));
}

function delta(text: string): ProviderEvent {
  return { case: "outputTextDelta", value: { text } };
}

function toValue(json: JsonValue | undefined): Value | undefined {
  return json === undefined ? undefined : fromJson(ValueSchema, json);
}

/** Goes on as a careless provider would, whatever `run` throws. */
async function swallow(run: () => Promise<void>): Promise<undefined> {
  try {
    await run();
  } catch {
    // The refusal counts all the same: that is what the step shows.
  }
}
