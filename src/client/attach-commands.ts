import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  type AttachExecutionRequest,
  AttachExecutionRequestSchema,
  type CommandReceipt,
  type Pong,
} from "../../gen/ts/harnessruntime/v1/attach_pb.js";
import type {
  CancelExecutionResponse,
  SendInputResponse,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { fromStatus, HarnessRpcError } from "./errors.js";

/** A command of AttachExecution besides the first. */
export type Command = Exclude<
  NonNullable<MessageInitShape<typeof AttachExecutionRequestSchema>["command"]>,
  { case: "attach" | "start" } | { case: undefined; value?: undefined }
>;

type Result = CommandReceipt["result"];

/** The commands of one attachment that have no receipt yet, over all its streams. */
export interface PendingCommands {
  /** Sends a command, now or as soon as a stream is open; resolves with its receipt's result. */
  send(command: Command): Promise<Result>;
  /** Whether a receipt is waited for. */
  waiting(): boolean;
  /** A stream is open: what has no receipt is sent on it, in order. */
  connect(push: (request: AttachExecutionRequest) => void): void;
  disconnect(): void;
  /** A receipt came. One for an unknown command is ignored. */
  settle(receipt: CommandReceipt): void;
  /** No stream will follow: returns what has no receipt, for another way. */
  take(): readonly Pending[];
}

/** A command and whoever waits for it. */
export interface Pending {
  readonly request: AttachExecutionRequest;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Starts with no stream and no command. */
export function createPendingCommands(): PendingCommands {
  const pending = new Map<string, Pending>();
  let push: ((request: AttachExecutionRequest) => void) | undefined;
  let count = 0;
  return {
    async send(command) {
      const request = create(AttachExecutionRequestSchema, { commandId: String(++count), command });
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      pending.set(request.commandId, { request, resolve, reject });
      push?.(request);
      return await promise;
    },
    waiting: () => pending.size > 0,
    connect(pushTo) {
      push = pushTo;
      for (const { request } of pending.values()) pushTo(request);
    },
    disconnect() {
      push = undefined;
    },
    settle({ commandId, result }) {
      const command = pending.get(commandId);
      pending.delete(commandId);
      if (result.case === "error") command?.reject(fromStatus(result.value));
      else command?.resolve(result);
    },
    take() {
      const rest = [...pending.values()];
      pending.clear();
      return rest;
    },
  };
}

/** What each kind of receipt holds. */
interface Receipts {
  readonly sendInput: SendInputResponse;
  readonly cancel: CancelExecutionResponse;
  readonly pong: Pong;
}

/** The value of the result that belongs to the command. */
export function mustBe<C extends keyof Receipts>(result: Result, expected: C): Receipts[C] {
  if (result.case === expected) return result.value as Receipts[C];
  throw new HarnessRpcError(`expected the receipt of ${expected}, received ${result.case}`, Code.Internal);
}
