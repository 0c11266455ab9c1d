import { computed, type Signal, useSignal } from "@preact/signals";
import { useCallback, useMemo, useRef } from "preact/hooks";
import { type Event, EventSchema } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import { ExecutionService } from "../../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { eventTypeOf } from "../../client/event-type.js";
import { useCommands } from "../commands.js";
import { grpcurl } from "../grpcurl.js";
import { useListCursor } from "../list/cursor.js";
import { VirtualList } from "../list/virtual-list.js";
import type { FollowedExecution } from "../live/followed-execution.js";
import { CopyButton } from "../parts/copy-button.js";
import { Icon } from "../parts/icon.js";
import { JsonText } from "../parts/json-view.js";
import { executionHref } from "../route.js";
import { eventSummary } from "../timeline/event-summary.js";
import { messageText } from "../words/json.js";
import { span, timestampMs } from "../words/quantity.js";
import { ToEnd } from "./timeline-tab.js";
import { useSequence } from "./use-sequence.js";

const ROW_HEIGHT = 30;
const GROUPS = [
  "all",
  "run",
  "output",
  "tool",
  "plan",
  "model",
  "action",
  "input",
  "artifact",
  "completion",
  "provider",
];

/** A log as it is: every event, one a row, with its JSON. */
export function EventsTab({ followed, sequence }: { readonly followed: FollowedExecution; readonly sequence: number }) {
  const group = useSignal("all");
  const chosen = useSignal(sequence);
  const { events } = followed;
  const rows = useFiltered(followed, group.value);
  const cursor = useListCursor({ rows: rows.events, length: rows.length, keyOf: sequenceOf, what: "event" });
  useCommands([
    ...cursor.commands,
    { title: "Go to the end", keys: "G", run: () => cursor.list.peek()?.toEnd() },
    { title: "Go to the beginning", keys: "g g", run: () => cursor.list.peek()?.show(0, { align: "start" }) },
  ]);
  useSequence(sequence, followed, cursor.list, (wanted) => {
    chosen.value = wanted;
    if (group.value === "all") return Math.max(0, wanted - followed.firstSequence.value);
    return rows.events.findIndex((event) => event.sequence >= wanted);
  });
  const event = events[chosen.value - followed.firstSequence.value];
  const render = useCallback((row: Event) => <EventRow event={row} first={events[0]} chosen={chosen} />, [events]);
  return (
    <div class={`events ${event === undefined ? "" : "with-event"}`}>
      <div class="event-list">
        <label class="group-filter">
          <span class="sr-only">Kind of events</span>
          <select value={group.value} onChange={(change) => (group.value = change.currentTarget.value)}>
            {GROUPS.map((name) => (
              <option key={name} value={name}>
                {name === "all" ? "All events" : `${name}.*`}
              </option>
            ))}
          </select>
        </label>
        <VirtualList
          key={group.value}
          label="Events"
          rows={rows.events}
          length={rows.length}
          guess={() => ROW_HEIGHT}
          uniform
          follow
          render={render}
          {...cursor.props}
        />
        <ToEnd list={cursor.list} length={rows.length} />
      </div>
      {event === undefined ? null : <EventPanel event={event} onClose={() => (chosen.value = 0)} />}
    </div>
  );
}

const sequenceOf = ({ sequence }: Event): number => sequence;

/** The events of a group. They grow in place; what was looked at is not looked at again. */
function useFiltered(
  followed: FollowedExecution,
  group: string,
): { readonly events: readonly Event[]; readonly length: number } {
  const kept = useRef<{ group: string; events: Event[]; seen: number }>({ group: "", events: [], seen: 0 });
  const shown = followed.shownSequence.value;
  if (group === "all") {
    return { events: followed.events, length: shown === 0 ? 0 : shown - followed.firstSequence.value + 1 };
  }
  if (kept.current.group !== group) kept.current = { group, events: [], seen: 0 };
  const { events } = kept.current;
  for (; kept.current.seen < followed.events.length; kept.current.seen++) {
    const event = followed.events[kept.current.seen];
    if (event !== undefined && eventTypeOf(event).startsWith(`${group}.`)) events.push(event);
  }
  return { events, length: events.length };
}

interface EventRowProps {
  readonly event: Event;
  /** The log's first: times are counted from it. */
  readonly first: Event | undefined;
  /** The sequence of the event whose JSON is shown. */
  readonly chosen: Signal<number>;
}

function EventRow({ event, first, chosen }: EventRowProps) {
  const { sequence, time } = event;
  const isChosen = useMemo(() => computed(() => chosen.value === sequence), [chosen, sequence]).value;
  return (
    <button
      type="button"
      class={`event-row ${isChosen ? "current" : ""}`}
      aria-pressed={isChosen}
      data-row-focus
      onClick={() => {
        chosen.value = sequence;
      }}
    >
      <span class="sequence">{sequence}</span>
      <span class="at">
        {time === undefined || first?.time === undefined ? "" : `+${span(timestampMs(time) - timestampMs(first.time))}`}
      </span>
      <span class="type">{eventTypeOf(event)}</span>
      <span class="summary" dir="auto">
        {eventSummary(event)}
      </span>
    </button>
  );
}

/** One event as JSON. */
function EventPanel({ event, onClose }: { readonly event: Event; onClose(): void }) {
  const { sequence, executionId } = event;
  const text = messageText(EventSchema, event);
  const request = { executionId, afterSequence: sequence - 1, pageSize: 1 };
  return (
    <section class="event-panel" aria-label={`Event ${sequence}`} tabIndex={0}>
      <header>
        <h2>Event {sequence}</h2>
        <CopyButton label="JSON" what="the event's JSON" text={() => text} />
        <CopyButton
          label="grpcurl"
          what="the grpcurl command that reads it"
          text={() => grpcurl(ExecutionService.method.listEvents, request)}
        />
        <a
          class="button quiet icon-only"
          href={executionHref(executionId, "timeline", sequence)}
          aria-label="Show it in the timeline"
          title="Show it in the timeline"
        >
          <Icon name="link" />
        </a>
        <button type="button" class="quiet icon-only" aria-label="Close the event" onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      <JsonText text={text} />
    </section>
  );
}
