import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "../../gen/ts/google/rpc/status_pb.js";
import {
  type AttachExecutionRequest,
  type AttachExecutionResponse,
  AttachExecutionResponseSchema,
  type CommandReceipt,
  CommandReceiptSchema,
} from "../../gen/ts/harnessruntime/v1/attach_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { createOutbox, type Outbox } from "../../src/client/outbox.js";
import type { FakeRuntime } from "./fake-runtime.js";
import { refuse } from "./refuse.js";

/** AttachExecution of a {@link FakeRuntime}. */
export async function* fakeAttach(
  runtime: FakeRuntime,
  requests: AsyncIterable<AttachExecutionRequest>,
  signal: AbortSignal,
): AsyncGenerator<AttachExecutionResponse, void> {
  const commands = requests[Symbol.asyncIterator]();
  const { command } = (await commands.next()).value ?? {};
  const execution = executionOf(runtime, command);
  runtime.calls.push(`attach ${command?.case}`);
  yield create(AttachExecutionResponseSchema, { frame: { case: "snapshot", value: execution } });

  const stop = new AbortController();
  const down = createOutbox<AttachExecutionResponse>();
  const after = command?.case === "attach" ? command.value.afterSequence : 0;
  void answer(runtime, execution.id, commands, down).catch(() => undefined);
  const events = forward(runtime, execution.id, after, AbortSignal.any([signal, stop.signal]), down);
  events.catch(() => undefined);
  try {
    yield* down;
    await events;
  } finally {
    stop.abort();
  }
}

function executionOf(runtime: FakeRuntime, command: AttachExecutionRequest["command"] | undefined): Execution {
  if (command?.case === "attach") return runtime.find(command.value.executionId).execution;
  if (command?.case !== "start") throw refuse(Code.InvalidArgument, "VALIDATION_ERROR");
  return runtime.once(command.value.idempotencyKey, () => runtime.start().execution.id);
}

/** Sends the events down, and ends the way down when they end. */
async function forward(
  runtime: FakeRuntime,
  executionId: string,
  after: number,
  signal: AbortSignal,
  down: Outbox<AttachExecutionResponse>,
): Promise<void> {
  try {
    for await (const value of runtime.watch(executionId, after, signal)) {
      down.push(create(AttachExecutionResponseSchema, { frame: { case: "events", value } }));
    }
  } finally {
    down.end();
  }
}

/** Does what the commands say and sends the receipts down. */
async function answer(
  runtime: FakeRuntime,
  executionId: string,
  commands: AsyncIterator<AttachExecutionRequest>,
  down: Outbox<AttachExecutionResponse>,
): Promise<void> {
  for (let next = await commands.next(); next.done !== true; next = await commands.next()) {
    const { commandId, command } = next.value;
    runtime.calls.push(`command ${command.case}`);
    const value = create(CommandReceiptSchema, { commandId, result: resultOf(runtime, executionId, command) });
    down.push(create(AttachExecutionResponseSchema, { frame: { case: "receipt", value } }));
  }
}

function resultOf(runtime: FakeRuntime, executionId: string, command: AttachExecutionRequest["command"]) {
  try {
    return done(runtime, executionId, command);
  } catch (error) {
    return { case: "error" as const, value: toStatus(ConnectError.from(error)) };
  }
}

function done(
  runtime: FakeRuntime,
  executionId: string,
  command: AttachExecutionRequest["command"],
): CommandReceipt["result"] {
  const empty = create(CommandReceiptSchema, { result: { case: "pong", value: {} } }).result;
  if (command.case === "ping") return empty;
  const result =
    command.case === "cancel"
      ? { case: command.case, value: { execution: runtime.cancel(executionId, command.value.reason) } }
      : { case: "sendInput" as const, value: runtime.send(executionId, keyOf(command)) };
  return create(CommandReceiptSchema, { result }).result;
}

function keyOf(command: AttachExecutionRequest["command"]): string | undefined {
  return command.case === "sendInput" ? command.value.idempotencyKey : undefined;
}

function toStatus({ rawMessage, code, details }: ConnectError): Status {
  const packed = details.flatMap((detail) =>
    "desc" in detail ? [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, detail.value))] : [],
  );
  return create(StatusSchema, { code, message: rawMessage, details: packed });
}
