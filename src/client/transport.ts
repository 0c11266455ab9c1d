import {
  clone,
  create,
  type DescMessage,
  type DescMethodUnary,
  isMessage,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { durationMs, MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { StreamResponse, Transport } from "@connectrpc/connect";
import { CancelExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { WaitExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { toRpcError } from "./errors.js";
import { callOnce, callPatiently } from "./retry.js";
import type { ClientSettings } from "./settings.js";

/**
 * Gives a transport this client's manners: requests that may bear an
 * idempotency key get one, unary calls that are safe to send twice are tried
 * again, and whatever fails throws a `HarnessRpcError`. Streams are
 * opened once: `followEvents` and `attach` know how to open them again.
 */
export function withManners(inner: Transport, settings: ClientSettings): Transport {
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const message = named(method, input, settings.newIdempotencyKey);
      const limitMs = timeoutMs ?? callLimitMs(message, settings.callTimeoutMs);
      const call = () => inner.unary(method, signal, limitMs, header, message, contextValues);
      return await (mayRepeat(method, message)
        ? callPatiently(call, settings, { signal, waits: waits(message) })
        : callOnce(call));
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      try {
        return typed(await inner.stream(method, signal, timeoutMs, header, input, contextValues));
      } catch (error) {
        throw toRpcError(error);
      }
    },
  };
}

/** The field that makes a request safe to send twice; every request that has it is named by the caller. */
const KEY_FIELD = "idempotencyKey";

/** The message to send, with a new key where it may bear one and has none. The caller's own message stays as it is. */
function named<I extends DescMessage>(
  { input: schema }: DescMethodUnary<I>,
  input: MessageInitShape<I>,
  newKey: ClientSettings["newIdempotencyKey"],
): MessageShape<I> {
  const message = create(schema, input);
  if (newKey === false || schema.field[KEY_FIELD] === undefined || keyOf(message) !== undefined) return message;
  return Object.assign(clone(schema, message), { [KEY_FIELD]: newKey() });
}

function keyOf(message: object): unknown {
  return KEY_FIELD in message ? message[KEY_FIELD] : undefined;
}

/** Whether sending the request a second time does no more than sending it once. */
function mayRepeat(method: DescMethodUnary, message: object): boolean {
  return method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN || keyOf(message) !== undefined;
}

/** Whether the server answers a call only once something has happened. */
function waits(message: object): boolean {
  return isMessage(message, WaitExecutionRequestSchema) || isWaitingCancel(message);
}

function isWaitingCancel(message: object): boolean {
  return isMessage(message, CancelExecutionRequestSchema) && message.wait;
}

/** How long one try may take; undefined for ever. Calls that wait by themselves get that time on top. */
function callLimitMs(message: object, callTimeoutMs: number): number | undefined {
  if (isWaitingCancel(message)) return undefined;
  if (!isMessage(message, WaitExecutionRequestSchema)) return callTimeoutMs;
  return callTimeoutMs + (message.timeout === undefined ? DEFAULT_WAIT_MS : durationMs(message.timeout));
}

/** What WaitExecution waits when its request does not say. */
const DEFAULT_WAIT_MS = 30_000;

/** The same stream, whose failures are typed. */
function typed<I extends DescMessage, O extends DescMessage>(response: StreamResponse<I, O>): StreamResponse<I, O> {
  return { ...response, message: typedMessages(response.message) };
}

function typedMessages<T>(messages: AsyncIterable<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const inner = messages[Symbol.asyncIterator]();
      return {
        next: async () => {
          try {
            return await inner.next();
          } catch (error) {
            throw toRpcError(error);
          }
        },
        return: async (value: unknown) => (await inner.return?.(value)) ?? { done: true, value },
      };
    },
  };
}
