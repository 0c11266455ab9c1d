import type { JsonValue } from "@bufbuild/protobuf";
import { cutText } from "../../core/cut-text.js";
import type { ProviderEvent } from "../../core/provider.js";
import { boundedJson, boundedValue, type Fields, fieldsOf, listOf, textOf } from "./json.js";

const TITLE_BYTES = 1_024;
const NAME_BYTES = 200;
const INPUT_BYTES = 64 * 1024;
const OUTPUT_BYTES = 128 * 1024;
const ERROR_BYTES = 2 * 1024;

/** What is known of a call so far: whatever an agent says of it replaces what it said before. */
interface Call {
  readonly id: string;
  name: string;
  kind: string;
  title: string;
  input: unknown;
  content: unknown;
  rawOutput: unknown;
  locations: unknown;
  denied: boolean;
  ended: boolean;
}

/** Reads the output of a terminal that the agent made here, for the calls that show it. */
export type ReadTerminal = (terminalId: string) => string | undefined;

/**
 * The tool calls of one turn, by the agent's ids. The first that is heard of
 * a call may be its beginning, an update or a question for permission; what
 * comes later is merged into it, and no late word undoes a later state.
 */
export class ToolCalls {
  private readonly calls = new Map<string, Call>();

  /** `used`: how often each of the agent's ids came in the execution so far. */
  constructor(
    private readonly used: Map<string, number>,
    private readonly readTerminal: ReadTerminal,
  ) {}

  /** Takes in what the agent says of a call. `begins`: it says so as of a new one. */
  apply(fields: Fields, begins: boolean): ProviderEvent[] {
    const agentId = textOf(fields["toolCallId"]) ?? "call";
    const known = this.calls.get(agentId);
    // An id is only as unique as the model makes it: a begin that differs from what has ended is another call.
    const isNew = known === undefined || (known.ended && begins && differs(known, fields));
    const call = isNew ? this.begin(agentId) : known;
    const changed = merge(call, fields);
    const ends = isEnd(fields) && !call.ended;
    const shows = !ends && (isNew ? this.outputOf(call) !== undefined : changed);
    return [
      ...(isNew ? [started(call)] : []),
      ...(shows ? [this.updated(call)] : []),
      ...(ends ? [this.completed(call, fields["status"] === "failed")] : []),
    ];
  }

  /** Notes that the call was refused; it is shown as denied when it ends. */
  deny(agentId: string): void {
    const call = this.calls.get(agentId);
    if (call !== undefined) call.denied = true;
  }

  /** Ends what the agent left open, because of `reason`. */
  endTurn(reason: string): ProviderEvent[] {
    const open = [...this.calls.values()].filter((call) => !call.ended);
    return open.map((call) => this.completed(call, !call.denied, reason));
  }

  private begin(agentId: string): Call {
    const uses = (this.used.get(agentId) ?? 0) + 1;
    this.used.set(agentId, uses);
    const id = cutText(agentId, NAME_BYTES).text;
    const call: Call = {
      id: uses === 1 ? id : `${id}#${uses}`,
      ...{ name: "", kind: "", title: "", input: undefined, content: undefined },
      ...{ rawOutput: undefined, locations: undefined, denied: false, ended: false },
    };
    this.calls.set(agentId, call);
    return call;
  }

  private updated(call: Call): ProviderEvent {
    return {
      case: "toolCallUpdated",
      value: { ...described(call), ...valueIn("output", this.outputOf(call), OUTPUT_BYTES) },
    };
  }

  private completed(call: Call, failed: boolean, reason?: string): ProviderEvent {
    call.ended = true;
    const output = this.outputOf(call);
    const why = call.denied ? "refused" : (reason ?? (cutText(textIn(call), ERROR_BYTES).text || "the call failed"));
    return {
      case: "toolCallCompleted",
      value: {
        ...described(call),
        ...valueIn("output", output, OUTPUT_BYTES),
        denied: call.denied,
        error: failed || call.denied ? why : "",
      },
    };
  }

  /** What the call has brought so far: only the members that there are. Undefined where there is none. */
  private outputOf(call: Call): JsonValue | undefined {
    const content = listOf(call.content);
    const diffs = content.filter(({ type }) => type === "diff");
    const terminals = content.flatMap(({ terminalId }) => textOf(terminalId) ?? []);
    const text = textIn(call);
    const output = {
      ...(text === "" ? {} : { text }),
      ...(diffs.length === 0
        ? {}
        : { diffs: diffs.map(({ path, oldText, newText }) => ({ path, old_text: oldText, new_text: newText })) }),
      ...(terminals.length === 0
        ? {}
        : { terminals: terminals.map((id) => ({ terminal_id: id, output: this.readTerminal(id) })) }),
      ...(listOf(call.locations).length === 0 ? {} : { locations: call.locations }),
      ...(call.rawOutput === undefined ? {} : { raw: call.rawOutput }),
    };
    return Object.keys(output).length === 0 ? undefined : boundedJson(output, OUTPUT_BYTES);
  }
}

function differs(call: Call, { title, rawInput }: Fields): boolean {
  const inputDiffers = rawInput != null && JSON.stringify(rawInput) !== JSON.stringify(call.input);
  return inputDiffers || (textOf(title) !== undefined && title !== call.title && call.input === undefined);
}

function isEnd({ status }: Fields): boolean {
  return status === "completed" || status === "failed";
}

/** Takes over every field that is given; returns whether any of them changed. */
function merge(call: Call, fields: Fields): boolean {
  const given = {
    name: shortText(fields["name"], NAME_BYTES),
    kind: shortText(fields["kind"], NAME_BYTES),
    title: shortText(fields["title"], TITLE_BYTES),
    input: fields["rawInput"] ?? undefined,
    content: fields["content"] ?? undefined,
    rawOutput: fields["rawOutput"] ?? undefined,
    locations: fields["locations"] ?? undefined,
  };
  let changed = false;
  for (const [field, value] of Object.entries(given) as [keyof typeof given, unknown][]) {
    if (value === undefined || JSON.stringify(value) === JSON.stringify(call[field])) continue;
    Object.assign(call, { [field]: value });
    changed = true;
  }
  return changed;
}

function shortText(value: unknown, maxBytes: number): string | undefined {
  return textOf(cutText(textOf(value) ?? "", maxBytes).text);
}

function started(call: Call): ProviderEvent {
  return { case: "toolCallStarted", value: described(call) };
}

function described(call: Call) {
  const { id, kind, title, input } = call;
  // Most agents name no tool.
  const name = call.name || kind || "tool";
  return { toolCallId: id, name, kind, title, ...valueIn("input", input, INPUT_BYTES) };
}

function valueIn<K extends "input" | "output">(key: K, value: unknown, maxBytes: number) {
  return value === undefined
    ? {}
    : ({ [key]: boundedValue(value, maxBytes) } as Record<K, ReturnType<typeof boundedValue>>);
}

/** The text of a call's content, its parts joined by line breaks. */
function textIn(call: Call): string {
  return listOf(call.content)
    .flatMap(({ content }) => textOf(fieldsOf(content)["text"]) ?? [])
    .join("\n");
}
