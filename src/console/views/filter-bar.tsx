import type { RefObject } from "preact";
import { providers } from "../live/server-state.js";
import { type ExecutionFilter, goTo, STATE_GROUPS, type StateGroup } from "../route.js";

const NAMES: Readonly<Record<StateGroup, string>> = {
  all: "All",
  active: "Active",
  waiting: "Waiting for you",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** Chooses which executions are listed; the choice is in the address. */
export function FilterBar({
  filter,
  search,
}: {
  readonly filter: ExecutionFilter;
  readonly search: RefObject<HTMLInputElement | null>;
}) {
  const change = (part: Partial<ExecutionFilter>): void =>
    goTo({ view: "executions", filter: { ...filter, ...part } }, { replace: true });
  return (
    <search class="filter-bar">
      <div class="segments" role="group" aria-label="State">
        {STATE_GROUPS.map((group) => (
          <button type="button" key={group} aria-pressed={filter.group === group} onClick={() => change({ group })}>
            {NAMES[group]}
          </button>
        ))}
      </div>
      <select
        aria-label="Provider"
        value={filter.providerId}
        onChange={(event) => change({ providerId: event.currentTarget.value })}
      >
        <option value="">All providers</option>
        {(providers.value ?? []).map(({ manifest }) => (
          <option key={manifest?.id} value={manifest?.id}>
            {manifest?.name || manifest?.id}
          </option>
        ))}
      </select>
      <input
        ref={search}
        type="search"
        aria-label="Labels"
        placeholder="label=value"
        dir="auto"
        spellcheck={false}
        value={filter.labels}
        onChange={(event) => change({ labels: event.currentTarget.value })}
      />
      {filter.conversationId === "" ? null : (
        <button type="button" onClick={() => change({ conversationId: "" })}>
          Conversation {filter.conversationId} ✕
        </button>
      )}
    </search>
  );
}
