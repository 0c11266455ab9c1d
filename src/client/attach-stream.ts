import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AttachExecutionRequest,
  AttachExecutionRequestSchema,
  type AttachExecutionResponse,
  type CommandReceipt,
  PongSchema,
  type SendInputCommand,
} from "../../gen/ts/harnessruntime/v1/attach_pb.js";
import type { WatchEventsResponse } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import type { SendInputRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { Attachment, AttachOptions, AttachTarget } from "./attach.js";
import { type Commands, commandByCalls, inputKey, mustHave } from "./attach-calls.js";
import { type Command, createPendingCommands, mustBe, type Pending, type PendingCommands } from "./attach-commands.js";
import { type Reader, readAhead } from "./attach-reader.js";
import type { HarnessClient } from "./client.js";
import type { Cursor } from "./cursor.js";
import { followLog, type OpenLog, toCursor } from "./follow.js";
import { createOutbox, type Outbox } from "./outbox.js";

/** What the streams of one attachment share. */
interface Session {
  readonly client: HarnessClient;
  /** What opens the first stream; once there is a snapshot, every stream attaches to its execution. */
  readonly target: AttachTarget;
  readonly eventTypes: string[];
  readonly pending: PendingCommands;
  readonly attached: PromiseWithResolvers<Execution>;
  snapshot: Execution | undefined;
}

/** Attaches over bidirectional streams, one after the other. */
export async function attachByStream(
  client: HarnessClient,
  target: AttachTarget,
  options: AttachOptions,
): Promise<Attachment> {
  const closed = new AbortController();
  const signal = options.signal === undefined ? closed.signal : AbortSignal.any([options.signal, closed.signal]);
  const session: Session = {
    client,
    target: named(client, target),
    eventTypes: [...(options.eventTypes ?? [])],
    pending: createPendingCommands(),
    attached: Promise.withResolvers(),
    snapshot: undefined,
  };
  const cursor = toCursor({ ...options, executionId: "executionId" in target ? target.executionId : "" });
  const frames = followLog(openStreams(session), cursor, client.settings, { ...options, signal });
  const reader = readAhead(frames, signal, session.pending.waiting);
  reader.fetched.catch(session.attached.reject);
  const snapshot = await session.attached.promise;
  const { respond } = commandByCalls(client, snapshot.id, signal);
  return {
    snapshot,
    ...commandByStream(session, reader, respond, signal),
    frames: reader.frames,
    [Symbol.asyncIterator]: () => reader[Symbol.asyncIterator](),
    close: () => closed.abort(),
  };
}

/** A start that has a key, so that it may be sent again. */
function named(client: HarnessClient, target: AttachTarget): AttachTarget {
  if (!("start" in target) || target.start.idempotencyKey !== undefined) return target;
  return { start: { ...target.start, idempotencyKey: inputKey(client) } };
}

function openStreams(session: Session): OpenLog {
  return (cursor, signal) => {
    const outbox = createOutbox<AttachExecutionRequest>();
    outbox.push(create(AttachExecutionRequestSchema, { commandId: "0", command: firstCommand(session, cursor) }));
    return eventsOf(session, session.client.executions.attachExecution(outbox, { signal }), outbox);
  };
}

type FirstCommand = NonNullable<MessageInitShape<typeof AttachExecutionRequestSchema>["command"]>;

function firstCommand({ target, snapshot, eventTypes }: Session, { afterSequence }: Cursor): FirstCommand {
  if ("start" in target && snapshot === undefined) return { case: "start", value: target.start };
  const executionId = "start" in target ? mustHave(snapshot).id : target.executionId;
  return { case: "attach", value: { executionId, afterSequence, eventTypes } };
}

/** The log's frames of one stream; snapshot and receipts go where they belong. */
async function* eventsOf(
  session: Session,
  responses: AsyncIterable<AttachExecutionResponse>,
  outbox: Outbox<AttachExecutionRequest>,
): AsyncGenerator<WatchEventsResponse, void> {
  const { pending, attached } = session;
  try {
    for await (const { frame } of responses) {
      if (frame.case === "events") yield frame.value;
      if (frame.case === "receipt") pending.settle(frame.value);
      if (frame.case === "snapshot") {
        session.snapshot = frame.value;
        attached.resolve(frame.value);
        pending.connect(outbox.push);
      }
    }
  } finally {
    pending.disconnect();
    outbox.end();
  }
}

/** Commands over the open stream; what has no receipt when the log ends is asked by a unary call. */
function commandByStream(
  session: Session,
  reader: Reader,
  respond: Commands["respond"],
  signal: AbortSignal,
): Commands {
  const { client, pending } = session;
  let over = false;
  const finish = (error?: unknown): void => {
    over = true;
    for (const command of pending.take()) {
      if (error === undefined || signal.aborted) void byCall(session, command, signal);
      else command.reject(error);
    }
  };
  reader.fetched.then(() => finish(), finish);

  const send = (command: Command): Promise<CommandReceipt["result"]> => {
    const result = pending.send(command);
    reader.wake();
    if (over) finish();
    return result;
  };
  return {
    async sendInput(input, mode) {
      const value = { input, mode, idempotencyKey: inputKey(client) };
      return mustBe(await send({ case: "sendInput", value }), "sendInput");
    },
    async cancel(reason = "") {
      return mustHave(mustBe(await send({ case: "cancel", value: { reason } }), "cancel").execution);
    },
    async ping() {
      mustBe(await send({ case: "ping", value: {} }), "pong");
    },
    respond,
  };
}

/** Asks by a unary call what a stream left open. With the signal aborted that fails with CANCELED at once. */
async function byCall(session: Session, { request, resolve, reject }: Pending, signal: AbortSignal): Promise<void> {
  const { executions } = session.client;
  const { command } = request;
  const executionId = mustHave(session.snapshot).id;
  try {
    if (command.case === "sendInput") {
      const value = await executions.sendInput({ executionId, ...withoutType(command.value) }, { signal });
      resolve({ case: "sendInput", value });
    } else if (command.case === "cancel") {
      const { reason } = command.value;
      resolve({ case: "cancel", value: await executions.cancelExecution({ executionId, reason }, { signal }) });
    } else {
      await executions.getExecution({ executionId }, { signal });
      resolve({ case: "pong", value: create(PongSchema) });
    }
  } catch (error) {
    reject(error);
  }
}

function withoutType({
  input,
  mode,
  idempotencyKey,
}: SendInputCommand): MessageInitShape<typeof SendInputRequestSchema> {
  return {
    mode,
    ...(input === undefined ? {} : { input }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}
