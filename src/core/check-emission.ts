import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Value as WktValue } from "@bufbuild/protobuf/wkt";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { ProviderManifest } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { supports } from "./capability.js";
import { splitText } from "./cut-text.js";
import type { PayloadInit } from "./decision.js";
import { HarnessError } from "./errors.js";
import { EVENT_NAMES, eventName } from "./event-name.js";
import { MAX_EVENT_BYTES, MAX_ITEM_ID_LENGTH } from "./limits.js";
import type { ProviderEvent, ProviderEventKind } from "./provider.js";
import { ProtocolViolationError } from "./violation.js";
import { wellFormed } from "./well-formed.js";

/** A text delta longer than this is split, so that its event stays below MAX_EVENT_BYTES. */
const MAX_DELTA_BYTES = MAX_EVENT_BYTES - 4096;
const NAMESPACED = /^[a-z][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)+$/;
/** The first words of the portable names: no vendor's namespace. */
const PORTABLE = new Set(EVENT_NAMES.map((name) => name.split(".")[0]));

type Value<K extends ProviderEventKind> = Extract<ProviderEvent, { case: K }>["value"];
type Check<K extends ProviderEventKind> = (value: Value<K>) => string | undefined;

/** What is wrong with a value of each kind that a provider may emit; undefined where nothing is. */
const CHECKS: { readonly [K in ProviderEventKind]: Check<K> } = {
  outputTextDelta: ({ text, itemId }) => text_(text) ?? item(itemId),
  outputReasoningDelta: ({ text, itemId }) => text_(text) ?? item(itemId),
  outputTextDone: ({ text, itemId }) => text_(text) ?? filled("item_id", itemId) ?? item(itemId),
  toolCallStarted: ({ toolCallId, name }) => filled("tool_call_id", toolCallId) ?? filled("name", name),
  toolCallUpdated: ({ toolCallId }) => filled("tool_call_id", toolCallId),
  toolCallCompleted: ({ toolCallId }) => filled("tool_call_id", toolCallId),
  planUpdated: ({ entries }) => (Array.isArray(entries) ? undefined : "entries must be a list"),
  modelCompleted: ({ usage }) => negative(usage),
  providerEvent: ({ type }) => vendorName(type),
};

/** The kinds that are streamed output and so need `event.streaming`. */
const STREAMED: ReadonlySet<string> = new Set<ProviderEventKind>(["outputTextDelta", "outputReasoningDelta"]);

/**
 * Returns what to append for one emitted event: itself, or a text delta in
 * pieces, of which an empty one has none. Throws a ProtocolViolationError for a kind that is not a provider's,
 * malformed data or a capability that the manifest does not have; a HarnessError
 * with EVENT_TOO_LARGE for more than 256 KiB.
 */
export function checkEmission(raw: ProviderEvent, manifest: ProviderManifest): readonly PayloadInit[] {
  const event = wellFormed(raw);
  const kind: unknown = (event as { case?: unknown } | null)?.case;
  if (typeof kind !== "string" || !Object.hasOwn(CHECKS, kind)) {
    throw new ProtocolViolationError(`a provider may not emit ${JSON.stringify(nameFor(kind))}`);
  }
  const name = eventName(event.case);
  const value: unknown = event.value;
  if (typeof value !== "object" || value === null) throw new ProtocolViolationError(`${name} has no value`);
  const wrong = (CHECKS[event.case] as Check<ProviderEventKind>)(event.value as never) ?? wrongData(value);
  if (wrong !== undefined) throw new ProtocolViolationError(`${name}: ${wrong}`);
  if (STREAMED.has(event.case) && !supports(manifest, "event.streaming")) {
    throw new ProtocolViolationError(`${name} needs the capability event.streaming, which the manifest does not have`);
  }
  return sized(event, name);
}

function nameFor(kind: unknown): unknown {
  return typeof kind === "string" ? eventName(kind as ProviderEventKind) : kind;
}

function sized(event: ProviderEvent, name: string): readonly PayloadInit[] {
  if (event.case === "outputTextDelta" || event.case === "outputReasoningDelta") {
    const { text = "", itemId = "" } = event.value;
    if (text === "") return [];
    if (text.length * 3 < MAX_DELTA_BYTES) return [event];
    return splitText(text, MAX_DELTA_BYTES).map((piece) => delta(event.case, { text: piece, itemId }));
  }
  const bytes = encodedSize(event, name);
  if (bytes <= MAX_EVENT_BYTES) return [event];
  throw new HarnessError(
    ErrorReason.EVENT_TOO_LARGE,
    `${name} is ${bytes} bytes and an event is at most ${MAX_EVENT_BYTES}; emit it in pieces, or announce it as an artifact`,
    { size_bytes: String(bytes), max_event_bytes: String(MAX_EVENT_BYTES) },
  );
}

function delta(kind: "outputTextDelta" | "outputReasoningDelta", value: { text: string; itemId: string }): PayloadInit {
  return kind === "outputTextDelta" ? { case: kind, value } : { case: kind, value };
}

function encodedSize(payload: ProviderEvent, name: string): number {
  try {
    const event: Event = create(EventSchema, { payload } as MessageInitShape<typeof EventSchema>);
    return toBinary(EventSchema, event).length;
  } catch (error) {
    throw new ProtocolViolationError(`${name} cannot be encoded: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}

function text_(text: unknown): string | undefined {
  return typeof text === "string" ? undefined : "text must be a string";
}

function item(id: unknown): string | undefined {
  const fits = id === undefined || (typeof id === "string" && isAtMost(id, MAX_ITEM_ID_LENGTH));
  return fits ? undefined : `item_id must be a string of at most ${MAX_ITEM_ID_LENGTH} characters`;
}

/** Counts characters as the contract does: one a code point. */
function isAtMost(text: string, length: number): boolean {
  return text.length <= length || (text.length <= 2 * length && [...text].length <= length);
}

function filled(field: string, value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? undefined : `${field} must be a string of at least one character`;
}

function vendorName(type: unknown): string | undefined {
  if (typeof type !== "string" || !NAMESPACED.test(type)) return "type must be namespaced, such as vendor.name";
  const namespace = type.split(".")[0];
  return PORTABLE.has(namespace) ? `type must not bear a portable name, and ${namespace}.* is portable` : undefined;
}

function negative(usage: unknown): string | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const wrong = Object.entries(usage).find(
    ([, count]) => typeof count === "number" && !(Number.isInteger(count) && count >= 0),
  );
  return wrong === undefined ? undefined : `usage.${wrong[0]} must be an integer of at least 0`;
}

/** Levels of nested data: what is deeper could not be read back by every client. */
const DEEPEST = 32;

/** What is wrong with the data of an event: its depth is that of the JSON, however many messages stand for it. */
function wrongData({ input, output, ...rest }: { readonly input?: unknown; readonly output?: unknown }) {
  return notFinite(rest, 0) ?? notFinite(input, 1, contentOf) ?? notFinite(output, 1, contentOf);
}

type Read = (value: unknown) => unknown;

/** Finds a number that JSON has no form for, or data nested without end. */
export function notFinite(raw: unknown, depth: number, read: Read = itself): string | undefined {
  const value = read(raw);
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "numbers must be finite";
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return undefined;
  if (depth > DEEPEST) return `data may be nested ${DEEPEST} levels deep`;
  for (const part of Object.values(value)) {
    const wrong = notFinite(part, depth + 1, read);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function itself(value: unknown): unknown {
  return value;
}

/** Returns what a Value message holds, one level deep; a value that is none as it is, for its encoding to refuse. */
function contentOf(value: unknown): unknown {
  const { kind } = (typeof value === "object" && value !== null ? value : {}) as Partial<WktValue>;
  if (kind?.case === "structValue") return kind.value?.fields;
  if (kind?.case === "listValue") return kind.value?.values;
  return kind?.case === undefined ? value : kind.value;
}
