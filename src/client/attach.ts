import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ActionRequest } from "../../gen/ts/harnessruntime/v1/action_pb.js";
import type { ContentSchema } from "../../gen/ts/harnessruntime/v1/content_pb.js";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import type {
  SendInputResponse,
  StartExecutionRequestSchema,
} from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import type { Execution } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { InputMode } from "../../gen/ts/harnessruntime/v1/input_pb.js";
import { attachByCalls } from "./attach-calls.js";
import { attachByStream } from "./attach-stream.js";
import type { HarnessClient } from "./client.js";
import type { FollowFrame, FollowOptions } from "./follow.js";
import type { ActionAnswer } from "./respond.js";

/** What to attach to: an execution that exists, or one that is started for it. */
export type AttachTarget =
  | { readonly executionId: string }
  | { readonly start: MessageInitShape<typeof StartExecutionRequestSchema> };

/** How to attach. `afterSequence` does not go with a start. */
export type AttachOptions = Omit<FollowOptions, "executionId">;

/** An execution that is followed and commanded. Iterate it once, for its events through the terminal one. */
export interface Attachment extends AsyncIterable<Event> {
  /** The execution as it was when this was attached, with its open actions. */
  readonly snapshot: Execution;
  /** The same as iterating, by frames. */
  frames(): AsyncIterable<FollowFrame>;
  /** Sends an input. It has an idempotency key, so that it is accepted once even when the connection breaks. */
  sendInput(input: MessageInitShape<typeof ContentSchema>, mode: InputMode): Promise<SendInputResponse>;
  /** Asks to cancel; resolves once the request is recorded. The first reason counts. */
  cancel(reason?: string): Promise<Execution>;
  /** Answers an action. */
  respond(actionId: string, answer: ActionAnswer): Promise<ActionRequest>;
  /** Resolves when the server has answered. */
  ping(): Promise<void>;
  /** Stops following. The execution goes on; commands that have no answer yet fail with CANCELED. */
  close(): void;
}

/**
 * Attaches to an execution: over one bidirectional stream where the transport
 * has them, else by unary calls and a server stream, with the same meaning.
 *
 * A connection that breaks is opened again, no event is lost or shown twice,
 * and commands without an answer are sent again. Events are fetched ahead, up to
 * 16 frames, whether they are read or not. Throws `HarnessRpcError` when the
 * server refuses.
 */
export async function attach(
  client: HarnessClient,
  target: AttachTarget,
  options: AttachOptions = {},
): Promise<Attachment> {
  return await (client.bidi ? attachByStream(client, target, options) : attachByCalls(client, target, options));
}
