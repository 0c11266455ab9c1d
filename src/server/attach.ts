import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type AttachExecutionRequest,
  AttachExecutionRequestSchema,
  type AttachExecutionResponse,
  AttachExecutionResponseSchema,
  type CommandReceipt,
  CommandReceiptSchema,
} from "../../gen/ts/harnessruntime/v1/attach_pb.js";
import {
  CancelExecutionRequestSchema,
  SendInputRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { invalid } from "../core/errors.js";
import type { Caller, Runtime, WatchBatch, Watcher } from "../core/runtime.js";
import { summaryOf } from "../core/views.js";
import { tooSlow } from "./arrival.js";
import { callerOf, readsJson } from "./call.js";
import { type Drain, serverDraining } from "./drain.js";
import type { ErrorConverter } from "./errors.js";
import { attachFrame, envelope, type Frame, watchMessage } from "./event-frames.js";
import { interruption, paceOf } from "./execution-streams.js";
import type { OpenSideDoor } from "./side-door.js";
import type { Validate } from "./validation.js";

export interface AttachOptions {
  /** How long the first message may take, in milliseconds. */
  readonly firstMessageMs: number;
  readonly runtime: Runtime;
  readonly openDoor: OpenSideDoor;
  readonly drain: Drain;
  readonly validate: Validate;
  readonly errors: ErrorConverter;
}

/** What the one writer of the stream writes. */
type Output =
  | { readonly kind: "batch"; readonly batch: WatchBatch }
  | { readonly kind: "receipt"; readonly receipt: CommandReceipt; readonly written: () => void };

/** What its two sources tell it; `idle` where a command was carried out and its receipt is written. */
type Item = Output | { readonly kind: "idle" };

/** What is ready, in order, for one reader. */
interface Inbox {
  push(item: Item): void;
  /** Makes {@link Inbox.next} throw, once what is ready was read. */
  fail(error: unknown): void;
  empty(): boolean;
  next(): Promise<Item>;
}

/**
 * AttachExecution: the snapshot, then events and receipts by one writer. The
 * next batch is read only when the last was written, and the next command only
 * when the last one's receipt was: neither side can fill memory. Commands are
 * carried out in their order. The stream ends with the last batch, once the
 * command in hand has its receipt.
 */
export async function* attachExecution(
  commands: AsyncIterable<AttachExecutionRequest>,
  context: HandlerContext,
  options: AttachOptions,
): AsyncGenerator<AttachExecutionResponse> {
  const iterator = commands[Symbol.asyncIterator]();
  const first = await firstMessage(iterator, options);
  if (first.done === true) throw invalid("command", "the first message is `attach` or `start`");
  options.validate(AttachExecutionRequestSchema, first.value);
  const { watcher, execution } = await open(first.value, context, options.runtime);
  const door = options.openDoor(context);
  const forget = options.drain.onBegin(() => {
    watcher.close();
    door?.close();
  });
  try {
    yield frame({ case: "snapshot", value: summaryOf(execution) });
    const decode = readsJson(context);
    for await (const item of merge(watcher, iterator, execution.id, context, options)) {
      if (door === undefined) yield toMessage(item, decode);
      else await door.write(toFrame(item));
    }
  } finally {
    forget();
    watcher.close();
  }
}

/** Fails with VALIDATION_ERROR where the first message takes too long, and with SERVER_DRAINING where the server goes away before it. */
async function firstMessage<T>(
  messages: AsyncIterator<T>,
  { drain, firstMessageMs }: AttachOptions,
): Promise<IteratorResult<T>> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooSlow(firstMessageMs)), firstMessageMs);
  const forget = drain.onBegin(() => reject(serverDraining()));
  try {
    return await Promise.race([messages.next(), promise]);
  } finally {
    clearTimeout(timer);
    forget();
  }
}

async function open(
  { command }: AttachExecutionRequest,
  context: HandlerContext,
  runtime: Runtime,
): Promise<{ readonly watcher: Watcher; readonly execution: Execution }> {
  const caller = callerOf(context);
  const pace = paceOf(context);
  if (command.case === "start") {
    const { id } = await runtime.startExecution(caller, command.value);
    const watcher = await runtime.watchEvents(caller, { ...FOLLOWING, executionId: id, pace });
    return { watcher, execution: await runtime.getExecution(caller, id) };
  }
  if (command.case !== "attach") throw invalid("command", "the first message is `attach` or `start`");
  const { executionId, afterSequence, eventTypes } = command.value;
  const watcher = await runtime.watchEvents(caller, { ...FOLLOWING, executionId, afterSequence, eventTypes, pace });
  return { watcher, execution: await runtime.getExecution(caller, executionId) };
}

/** A whole log, from its beginning on. */
const FOLLOWING = { afterSequence: 0, eventTypes: [], maxBatch: 0, follow: true };

/** Joins the two sources of frames, in the order they are ready. */
async function* merge(
  watcher: Watcher,
  commands: AsyncIterator<AttachExecutionRequest>,
  executionId: string,
  context: HandlerContext,
  options: AttachOptions,
): AsyncGenerator<Output> {
  const inbox = createInbox();
  const pull = async (): Promise<void> => {
    try {
      const batch = await watcher.next(context.signal);
      if (batch === undefined) inbox.fail(interruption(watcher, context.signal, options.drain));
      else inbox.push({ kind: "batch", batch });
    } catch (error) {
      inbox.fail(error);
    }
  };
  const inHand = { busy: false };
  void carryOut(commands, executionId, context, options, inHand, inbox);
  void pull();
  let over = false;
  while (!over || inHand.busy || !inbox.empty()) {
    const item = await inbox.next();
    if (item.kind === "idle") continue;
    yield item;
    if (item.kind === "receipt") item.written();
    else if (item.batch.last) over = true;
    else void pull();
  }
}

function createInbox(): Inbox {
  const ready: (() => Item)[] = [];
  let wake = (): void => undefined;
  const add = (take: () => Item): void => {
    ready.push(take);
    wake();
  };
  return {
    push: (item) => add(() => item),
    fail: (error) =>
      add(() => {
        throw error;
      }),
    empty: () => ready.length === 0,
    async next() {
      for (;;) {
        const take = ready.shift();
        if (take !== undefined) return take();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** Reads and carries out the commands, one after the other, until the caller has no more. */
async function carryOut(
  commands: AsyncIterator<AttachExecutionRequest>,
  executionId: string,
  context: HandlerContext,
  options: AttachOptions,
  inHand: { busy: boolean },
  inbox: Inbox,
): Promise<void> {
  try {
    for (let next = await commands.next(); next.done !== true; next = await commands.next()) {
      inHand.busy = true;
      const receipt = await obey(next.value, executionId, context, options);
      await new Promise<void>((written) => inbox.push({ kind: "receipt", receipt, written }));
      inHand.busy = false;
      inbox.push({ kind: "idle" });
    }
  } catch (error) {
    if (!context.signal.aborted) inbox.fail(error);
  }
}

async function obey(
  request: AttachExecutionRequest,
  executionId: string,
  context: HandlerContext,
  { runtime, validate, errors }: AttachOptions,
): Promise<CommandReceipt> {
  try {
    validate(AttachExecutionRequestSchema, request);
    const result = await commandResult(request, executionId, callerOf(context), runtime);
    return create(CommandReceiptSchema, { commandId: request.commandId, result });
  } catch (error) {
    const status = errors.toStatus(error, context.method.name);
    return create(CommandReceiptSchema, { commandId: request.commandId, result: { case: "error", value: status } });
  }
}

async function commandResult(
  { command }: AttachExecutionRequest,
  executionId: string,
  caller: Caller,
  runtime: Runtime,
): Promise<NonNullable<MessageInitShape<typeof CommandReceiptSchema>["result"]>> {
  switch (command.case) {
    case "sendInput": {
      const { input, mode, idempotencyKey } = command.value;
      const request = create(SendInputRequestSchema, {
        executionId,
        mode,
        ...(input !== undefined && { input }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      });
      return { case: "sendInput", value: await runtime.sendInput(caller, request) };
    }
    case "cancel": {
      const request = create(CancelExecutionRequestSchema, { executionId, reason: command.value.reason });
      return { case: "cancel", value: { execution: await runtime.cancelExecution(caller, request) } };
    }
    case "ping":
      return { case: "pong", value: {} };
    default:
      throw invalid("command", "`attach` and `start` come first and once");
  }
}

function toMessage(item: Output, decode: boolean): AttachExecutionResponse {
  if (item.kind === "receipt") return frame({ case: "receipt", value: item.receipt });
  return frame({ case: "events", value: watchMessage(item.batch, decode) });
}

function toFrame(item: Output): Frame {
  if (item.kind === "batch") return attachFrame(item.batch);
  return envelope(toBinary(AttachExecutionResponseSchema, frame({ case: "receipt", value: item.receipt })));
}

function frame(value: AttachExecutionResponse["frame"]): AttachExecutionResponse {
  return create(AttachExecutionResponseSchema, { frame: value });
}
