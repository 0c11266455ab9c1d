import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { type ActionDesk, type OnAction, openActionDesk } from "./action-desk.js";
import type { HarnessClient } from "./client.js";
import { type FollowFrame, type FollowOptions, followFrames } from "./follow.js";

/** What to do while an execution runs. */
export interface RunHandlers {
  /** Called once with the execution as it was started, before anything else. */
  readonly onStart?: (execution: Execution) => void;
  /** Called with each event, in order and once. What it returns is waited for. */
  readonly onEvent?: (event: Event) => void | Promise<void>;
  /** Answers actions; without it they wait for somebody else. */
  readonly onAction?: OnAction;
  /** Called before the log is opened again. */
  readonly onRetry?: FollowOptions["onRetry"];
}

/**
 * Starts an execution, follows it, and returns it as it ended, in whichever
 * way: look at `state`. The start has an idempotency key, so a failure of the
 * network starts no second one.
 *
 * Aborting the signal stops following and throws its reason; the execution goes
 * on. What a handler throws does the same.
 */
export async function runToEnd(
  client: HarnessClient,
  request: MessageInitShape<typeof StartExecutionRequestSchema>,
  handlers: RunHandlers = {},
  signal?: AbortSignal,
): Promise<Execution> {
  const { execution } = await client.executions.startExecution(request, signal === undefined ? {} : { signal });
  if (execution === undefined) throw new TypeError("the server answered with no execution");
  handlers.onStart?.(execution);
  return await followToEnd(client, { executionId: execution.id }, handlers, signal);
}

/** Follows an execution that exists, as {@link runToEnd} does. */
export async function followToEnd(
  client: HarnessClient,
  from: Pick<FollowOptions, "executionId" | "afterSequence">,
  handlers: Omit<RunHandlers, "onStart"> = {},
  signal?: AbortSignal,
): Promise<Execution> {
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const desk = openActionDesk(client, handlers.onAction, (error) => stop.abort(error));
  try {
    const { onRetry } = handlers;
    const options = { ...from, signal: either, ...(onRetry === undefined ? {} : { onRetry }) };
    for await (const frame of followFrames(client, options)) await take(frame, handlers, desk);
  } finally {
    desk.close();
  }
  const { execution } = await client.executions.getExecution({ executionId: from.executionId }, { signal: either });
  if (execution === undefined) throw new TypeError("the server answered with no execution");
  return execution;
}

async function take({ events }: FollowFrame, { onEvent }: RunHandlers, desk: ActionDesk): Promise<void> {
  for (const event of events) {
    await onEvent?.(event);
    desk.take(event);
  }
  desk.serve();
}
