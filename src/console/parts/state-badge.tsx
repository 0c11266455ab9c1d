import type { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { stateName, type Tone } from "../words/names.js";
import { Icon, type IconName } from "./icon.js";

const FIGURES: Readonly<Record<Tone, IconName | undefined>> = {
  waiting: "dots",
  busy: undefined,
  attention: "bang",
  good: "check",
  bad: "cross",
  stopped: "stop",
};

/** An execution's state: a figure, a colour and its name, none of which has to be told apart by itself. */
export function StateBadge({ state }: { readonly state: ExecutionState }) {
  const { text, tone } = stateName(state);
  const figure = FIGURES[tone];
  return (
    <span class={`badge tone-${tone}`}>
      <span class="figure">
        {figure === undefined ? <span class="spinner" aria-hidden="true" /> : <Icon name={figure} />}
      </span>
      {text}
    </span>
  );
}
