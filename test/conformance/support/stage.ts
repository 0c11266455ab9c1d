import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { expect } from "vitest";
import { ErrorInfoSchema } from "../../../gen/ts/google/rpc/error_details_pb.js";
import type { ActionRequest } from "../../../gen/ts/harnessruntime/v1/action_pb.js";
import type { Event } from "../../../gen/ts/harnessruntime/v1/event_pb.js";
import type { StartExecutionRequestSchema } from "../../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { type Execution, ExecutionState } from "../../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Script } from "../../../src/providers/scripted/script.js";
import { type Follower, follow, kindsOf } from "./follow.js";
import type { Clients } from "./target.js";

type Start = Exclude<MessageInitShape<typeof StartExecutionRequestSchema>, { $typeName: string }>;

/** An execution that a case has started, and its events. */
export interface Run {
  readonly id: string;
  readonly started: Execution;
  readonly follower: Follower;
  /** Waits for the end and returns what is left: checks what holds of every execution. */
  finish(): Promise<{ readonly execution: Execution; readonly events: readonly Event[] }>;
  get(): Promise<Execution>;
  /** Resolves with the action of the first `action_required`. */
  action(): Promise<ActionRequest>;
}

/** Starts an execution of the provider `scripted` that plays `script`, and follows it. */
export async function start({ executions }: Clients, script: Script, more: Start = {}): Promise<Run> {
  const { execution } = await executions.startExecution({
    providerId: "scripted",
    input: { text: "hello" },
    config: script as JsonObject,
    ...more,
  });
  if (execution === undefined) throw new Error("no execution");
  const { id } = execution;
  const follower = follow(executions.watchEvents({ executionId: id }));
  const get = async (): Promise<Execution> => must((await executions.getExecution({ executionId: id })).execution);
  return {
    id,
    started: execution,
    follower,
    get,
    async finish() {
      const events = await follower.end();
      const ended = await get();
      checkEnded(ended, events);
      return { execution: ended, events };
    },
    async action() {
      const { payload } = await follower.until("actionRequired");
      if (payload.case !== "actionRequired") throw new Error("another event");
      return must(payload.value.action);
    },
  };
}

const ENDS: ReadonlySet<string> = new Set(["runCompleted", "runFailed", "runCancelled"]);

/** What holds of every execution that ended, whatever it did (L01, L02, N02). */
function checkEnded(execution: Execution, events: readonly Event[]): void {
  const kinds = kindsOf(events);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(kinds[0]).toBe("runQueued");
  expect(kinds.filter((kind) => ENDS.has(kind))).toEqual(kinds.slice(-1));
  expect(execution.lastSequence).toBe(events.length);
  expect(execution.openActions).toEqual([]);
  const count = (kind: string): number => kinds.filter((each) => each === kind).length;
  expect(count("inputConsumed") + count("inputDropped")).toBe(count("inputAccepted"));
  expect([ExecutionState.SUCCEEDED, ExecutionState.FAILED, ExecutionState.CANCELLED]).toContain(execution.state);
}

/** Resolves with the reason and metadata that `promise` must be refused with. */
export async function refusal(
  promise: Promise<unknown>,
): Promise<{ reason: string; metadata: Record<string, string> }> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConnectError);
  const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema);
  expect(info?.domain ?? `no details: ${String(error)}`).toBe("harnessruntime");
  return { reason: info?.reason ?? "", metadata: info?.metadata ?? {} };
}

/** Reads a view until everything that matches was shown; resolves with what was. */
export async function untilSynced<T extends { readonly synced: boolean }>(view: AsyncIterable<T>): Promise<T[]> {
  const updates: T[] = [];
  for await (const update of view) {
    updates.push(update);
    if (update.synced) break;
  }
  return updates;
}

/** Reads on to the first item that is as wanted. */
export async function nextOf<T>(items: AsyncIterator<T>, wanted: (item: T) => boolean): Promise<T> {
  for (;;) {
    const { done, value } = await items.next();
    if (done === true) throw new Error("the stream ended before what it was read for");
    if (wanted(value)) return value;
  }
}

export function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a field that is always set is not");
  return value;
}
