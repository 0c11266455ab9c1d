import { styleText } from "node:util";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";

/** How text looks on a terminal. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Where text is written to. Colours go to terminals only, and to none with NO_COLOR. */
export type Target = "stdout" | "stderr";

/** Returns `text` with a style, or as it is where the target shows none. */
export function paint(style: Style, text: string, target: Target = "stdout"): string {
  return text === "" ? "" : styleText(style, text, { stream: process[target] });
}

const STATE_STYLES: { readonly [K in ExecutionState]?: Style } = {
  [ExecutionState.SUCCEEDED]: "green",
  [ExecutionState.FAILED]: "red",
  [ExecutionState.CANCELLED]: "yellow",
  [ExecutionState.CANCELLING]: "yellow",
  [ExecutionState.AWAITING_APPROVAL]: "cyan",
  [ExecutionState.AWAITING_INPUT]: "cyan",
};

/** Returns a state's name, in its colour. */
export function stateText(state: ExecutionState, target: Target = "stdout"): string {
  const style = STATE_STYLES[state];
  return style === undefined ? ExecutionState[state] : paint(style, ExecutionState[state], target);
}
