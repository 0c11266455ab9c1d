import { type Event, EventSchema } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { invalid } from "./errors.js";
import type { EventKind } from "./lifecycle.js";

/** The payload's fields in the contract's order. */
const FIELDS = EventSchema.oneofs.flatMap((oneof) => oneof.fields);
const NAMES = new Map(FIELDS.map((field) => [field.localName as EventKind, field.name.replaceAll("_", ".")]));

/** Every dotted name, in the contract's order. */
export const EVENT_NAMES: readonly string[] = [...NAMES.values()];

/** Returns the dotted name of an event's kind: `runCancelled` is `run.cancelled`. One to one over all kinds. */
export function eventName(kind: EventKind): string {
  return NAMES.get(kind) ?? kind;
}

/** Returns an event's dotted name; empty where it has no payload, or one that this version does not know. */
export function nameOf(event: Event): string {
  return event.payload.case === undefined ? "" : eventName(event.payload.case);
}

/**
 * Returns the payload field numbers that a filter lets through, or undefined for
 * a filter that lets all through. Each entry is a dotted name, or a prefix that
 * ends with `*`. Fails with VALIDATION_ERROR for one that matches no kind.
 */
export function parseEventTypes(types: readonly string[]): ReadonlySet<number> | undefined {
  if (types.length === 0 || types.includes("*")) return undefined;
  const numbers = new Set<number>();
  for (const [index, type] of types.entries()) {
    const matches = FIELDS.filter((field) => matchesName(field.name.replaceAll("_", "."), type));
    if (matches.length === 0) {
      throw invalid(
        `event_types[${index}]`,
        `no event is called ${JSON.stringify(type)}; use a name such as "run.completed" or a prefix such as "run.*"`,
      );
    }
    for (const field of matches) numbers.add(field.number);
  }
  return numbers;
}

function matchesName(name: string, type: string): boolean {
  return type.endsWith("*") ? name.startsWith(type.slice(0, -1)) : name === type;
}
