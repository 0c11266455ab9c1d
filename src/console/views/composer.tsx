import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import { InputMode } from "../../../gen/ts/harnessruntime/v1/input_pb.js";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { isTerminal } from "../../client/cursor.js";
import type { FollowedExecution } from "../live/followed-execution.js";
import { providers } from "../live/server-state.js";
import { notifyError } from "../parts/notices.js";
import { hrefOf } from "../route.js";
import { rememberInput } from "../sent-inputs.js";
import { client } from "../session.js";

const MODES = [
  { mode: InputMode.STEER, name: "Steer", capability: "input.steer", hint: "Goes into the running turn" },
  { mode: InputMode.FOLLOW_UP, name: "Follow up", capability: "input.follow_up", hint: "Becomes the next turn" },
  {
    mode: InputMode.REPLACE,
    name: "Replace",
    capability: "input.replace",
    hint: "Interrupts the turn and starts the next",
  },
] as const;

/** Writes to an execution that is not over: into its turn, after it, or instead of it. */
export function Composer({
  followed,
  area,
}: {
  readonly followed: FollowedExecution;
  readonly area: RefObject<HTMLTextAreaElement | null>;
}) {
  const text = useSignal("");
  const chosen = useSignal<InputMode>(InputMode.STEER);
  const state = followed.state.value;
  const execution = followed.execution.value;
  useLayoutEffect(() => {
    const element = area.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight + 2}px`;
  }, [text.value]);
  if (execution === undefined || state === ExecutionState.UNSPECIFIED) return null;
  if (isTerminal(state)) return <Over conversationId={execution.conversationId} providerId={execution.providerId} />;
  const modes = MODES.filter(({ capability }) => supports(execution.providerId, capability));
  const mode = modes.find((candidate) => candidate.mode === chosen.value) ?? modes[0];
  if (mode === undefined || state === ExecutionState.CANCELLING) return null;

  const send = async (): Promise<void> => {
    const sent = text.value.trim();
    if (sent === "") return;
    text.value = "";
    try {
      const request = { executionId: followed.executionId, input: { text: sent }, mode: mode.mode };
      const response = await client.executions.sendInput(request);
      rememberInput(response.inputId, sent);
      followed.take(response.execution);
    } catch (error) {
      // Something else may have been typed since.
      text.value = [sent, text.value].filter((part) => part.trim() !== "").join("\n");
      notifyError(error);
    }
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={area}
        rows={1}
        dir="auto"
        aria-label={`${mode.name} this execution`}
        placeholder={mode.hint}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div class="composer-line">
        <div class="segments" role="group" aria-label="How it is taken">
          {modes.map(({ mode: value, name, hint }) => (
            <button
              type="button"
              key={name}
              title={hint}
              aria-pressed={value === mode.mode}
              onClick={() => {
                chosen.value = value;
              }}
            >
              {name}
            </button>
          ))}
        </div>
        <button type="submit" class="primary" disabled={text.value.trim() === ""}>
          Send
        </button>
      </div>
    </form>
  );
}

function supports(providerId: string, capability: string): boolean {
  const provider = providers.value?.find(({ manifest }) => manifest?.id === providerId);
  const level = provider?.manifest?.capabilities[capability] ?? SupportLevel.UNSUPPORTED;
  return level !== SupportLevel.UNSUPPORTED;
}

/** What can be done after the end: go on in the same conversation. */
function Over({ conversationId, providerId }: { readonly conversationId: string; readonly providerId: string }) {
  return (
    <div class="composer over">
      <span class="hint">It is over.</span>
      <a class="button" href={hrefOf({ view: "start", providerId, conversationId })}>
        Go on in this conversation
      </a>
    </div>
  );
}
