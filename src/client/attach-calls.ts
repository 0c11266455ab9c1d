import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Attachment, AttachOptions, AttachTarget } from "./attach.js";
import { readAhead } from "./attach-reader.js";
import type { HarnessClient } from "./client.js";
import { followFrames } from "./follow.js";
import { respond } from "./respond.js";
import { randomKey } from "./settings.js";

/** The commands of an {@link Attachment}, by unary calls. */
export type Commands = Pick<Attachment, "sendInput" | "cancel" | "respond" | "ping">;

/** Commands an execution by unary calls. The signal ends those that have no answer yet. */
export function commandByCalls(client: HarnessClient, executionId: string, signal: AbortSignal): Commands {
  const { executions } = client;
  return {
    async sendInput(input, mode) {
      const idempotencyKey = inputKey(client);
      return await executions.sendInput({ executionId, input, mode, idempotencyKey }, { signal });
    },
    async cancel(reason = "") {
      return mustHave((await executions.cancelExecution({ executionId, reason }, { signal })).execution);
    },
    async respond(actionId, answer) {
      return await respond(client, { executionId, actionId }, answer, signal);
    },
    async ping() {
      await executions.getExecution({ executionId }, { signal });
    },
  };
}

/** An attachment always names its inputs, since it may have to send them again. */
export function inputKey({ settings: { newIdempotencyKey } }: HarnessClient): string {
  return newIdempotencyKey === false ? randomKey() : newIdempotencyKey();
}

/** Attaches by unary calls and a server stream. */
export async function attachByCalls(
  client: HarnessClient,
  target: AttachTarget,
  options: AttachOptions,
): Promise<Attachment> {
  const closed = new AbortController();
  const signal = options.signal === undefined ? closed.signal : AbortSignal.any([options.signal, closed.signal]);
  const snapshot = await snapshotOf(client, target, signal);
  const reader = readAhead(followFrames(client, { ...options, executionId: snapshot.id, signal }), signal);
  return {
    snapshot,
    ...commandByCalls(client, snapshot.id, signal),
    frames: reader.frames,
    [Symbol.asyncIterator]: () => reader[Symbol.asyncIterator](),
    close: () => closed.abort(),
  };
}

async function snapshotOf(
  { executions }: HarnessClient,
  target: AttachTarget,
  signal: AbortSignal,
): Promise<Execution> {
  const { execution } =
    "start" in target
      ? await executions.startExecution(target.start, { signal })
      : await executions.getExecution(target, { signal });
  return mustHave(execution);
}

/** The server always answers with the resource. */
export function mustHave<T>(resource: T | undefined): T {
  if (resource === undefined) throw new TypeError("the server answered without the resource");
  return resource;
}
