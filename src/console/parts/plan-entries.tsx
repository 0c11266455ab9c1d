import { type PlanEntry, PlanEntryState } from "../../../gen/ts/harnessruntime/v1/output_events_pb.js";
import { Icon } from "./icon.js";

const WORDS: Readonly<Record<PlanEntryState, string>> = {
  [PlanEntryState.UNSPECIFIED]: "",
  [PlanEntryState.PENDING]: "to do",
  [PlanEntryState.IN_PROGRESS]: "doing",
  [PlanEntryState.COMPLETED]: "done",
};

/** A plan, step by step. */
export function PlanEntries({ entries }: { readonly entries: readonly PlanEntry[] }) {
  return (
    <ol class="plan">
      {entries.map(({ content, state }, index) => (
        <li key={index} class={`step-${PlanEntryState[state]?.toLowerCase()}`}>
          <span class="figure">
            {state === PlanEntryState.COMPLETED ? <Icon name="check" /> : null}
            {state === PlanEntryState.IN_PROGRESS ? <span class="spinner" aria-hidden="true" /> : null}
          </span>
          <span dir="auto">{content}</span>
          <span class="sr-only">{WORDS[state]}</span>
        </li>
      ))}
    </ol>
  );
}
