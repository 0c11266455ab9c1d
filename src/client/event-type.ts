import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";

/** The event's portable dotted name, which filters use, such as `run.cancelled` or `output.text.delta`; empty for a kind that this client does not know. */
export function eventTypeOf({ payload }: Event): string {
  return (payload.case ?? "").replace(/[A-Z]/g, (letter) => `.${letter.toLowerCase()}`);
}
