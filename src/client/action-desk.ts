import type { ActionRequest } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { HarnessClient } from "./client.js";
import { reasonOf } from "./errors.js";
import { type ActionAnswer, respond } from "./respond.js";

/**
 * Returns the answer to an action, or undefined to leave it to somebody else.
 * The signal is aborted when the action is closed before there is an answer.
 */
export type OnAction = (action: ActionRequest, signal: AbortSignal) => Promise<ActionAnswer | undefined>;

/** Has the open actions of one execution answered, beside the following of its log. */
export interface ActionDesk {
  /** Notes that an action was opened or closed. */
  take(event: Event): void;
  /** Asks for answers to what is open and was not asked for yet. */
  serve(): void;
  /** Aborts whatever is being asked. */
  close(): void;
}

interface OpenAction {
  readonly action: ActionRequest;
  readonly closed: AbortController;
  asked: boolean;
}

/** Opens a desk; `onError` gets what `onAction` throws, and what the server refuses an answer with. */
export function openActionDesk(
  client: HarnessClient,
  onAction: OnAction | undefined,
  onError: (error: unknown) => void,
): ActionDesk {
  const open = new Map<string, OpenAction>();

  const ask = async ({ action, closed }: OpenAction, answerTo: OnAction): Promise<void> => {
    const { id: actionId, executionId } = action;
    try {
      const answer = await answerTo(action, closed.signal);
      if (answer === undefined || closed.signal.aborted) return;
      await respond(client, { executionId, actionId }, answer, closed.signal);
    } catch (error) {
      if (!closed.signal.aborted && !isSettled(error)) onError(error);
    }
  };
  const close = (actionId: string): void => {
    open.get(actionId)?.closed.abort();
    open.delete(actionId);
  };

  return {
    take({ payload }) {
      if (payload.case === "actionRequired" && payload.value.action !== undefined) {
        const { action } = payload.value;
        open.set(action.id, { action, closed: new AbortController(), asked: false });
      }
      if (isClosing(payload)) close(payload.value.actionId);
    },
    serve() {
      if (onAction === undefined) return;
      for (const entry of open.values()) {
        if (entry.asked) continue;
        entry.asked = true;
        void ask(entry, onAction);
      }
    },
    close() {
      for (const actionId of [...open.keys()]) close(actionId);
    },
  };
}

type Closing = Extract<Event["payload"], { case: "actionResponded" | "actionExpired" | "actionAbandoned" }>;

function isClosing(payload: Event["payload"]): payload is Closing {
  return payload.case === "actionResponded" || payload.case === "actionExpired" || payload.case === "actionAbandoned";
}

/** Somebody else was faster, or the action is gone: nothing is left to do. */
function isSettled(error: unknown): boolean {
  const reason = reasonOf(error);
  return reason === ErrorReason.ACTION_ALREADY_RESOLVED || reason === ErrorReason.ACTION_CLOSED;
}
