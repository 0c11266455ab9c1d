import {
  createRegistry,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
  fromJson,
  type JsonObject,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/ts/google/rpc/error_details_pb.js";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { ConversationService } from "../../gen/ts/harnessruntime/v1/conversation_service_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { RuntimeService } from "../../gen/ts/harnessruntime/v1/runtime_service_pb.js";
import type { Ask, Outcome, Question } from "./question.js";

export const SERVICES: readonly DescService[] = [RuntimeService, ConversationService, ExecutionService, ActionService];
const DETAILS = [ErrorInfoSchema, BadRequestSchema, RetryInfoSchema];
const registry = createRegistry(...SERVICES, ...DETAILS);
const JSON_NAMES = { useProtoFieldName: true, registry };

/** Every way in which TypeScript calls. */
export const TRANSPORTS: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  "gRPC-Web over HTTP/1.1": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" }),
  "Connect over HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  "Connect over HTTP/1.1, JSON": (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, jsonOptions: { registry } }),
};

/** Answers questions in this process. */
export const askTypeScript: Ask = async (question) => {
  const transport = TRANSPORTS[question.protocol]?.(question.url);
  if (transport === undefined) throw new Error(`unknown protocol ${question.protocol}`);
  return Promise.all(Array.from({ length: question.parallel ?? 1 }, () => call(transport, question)));
};

async function call(transport: Transport, question: Question): Promise<Outcome> {
  const method = methodOf(question);
  const header = question.token === "" ? undefined : { Authorization: `Bearer ${question.token}` };
  const left = new AbortController();
  const outcome = { responses: [] as JsonObject[], bytes: [] as number[] };
  try {
    for await (const response of responsesOf(transport, method, question, header, left.signal)) {
      outcome.responses.push(toJson(method.output, response, JSON_NAMES) as JsonObject);
      outcome.bytes.push(toBinary(method.output, response).length);
      if (question.until && JSON.stringify(outcome.responses.at(-1)).includes(`"${question.until}":`)) break;
    }
    return outcome;
  } catch (error) {
    return { ...outcome, error: failureOf(ConnectError.from(error)) };
  } finally {
    left.abort();
  }
}

function methodOf({ service, method }: Question): DescMethod {
  const found = registry.getService(`harnessruntime.v1.${service}`)?.methods.find(({ name }) => name === method);
  if (found === undefined) throw new Error(`no method ${service}.${method}`);
  return found;
}

async function* responsesOf(
  transport: Transport,
  method: DescMethod,
  { requests }: Question,
  header: HeadersInit | undefined,
  signal: AbortSignal,
): AsyncGenerator<Message> {
  const messages = requests.map((request) => fromJson(method.input, request, { registry }));
  const [only = fromJson(method.input, {})] = messages;
  if (method.methodKind === "unary") {
    const unary = method as DescMethodUnary;
    yield (await transport.unary(unary, signal, undefined, header, only)).message;
  } else {
    const streaming = method as DescMethodStreaming;
    yield* (await transport.stream(streaming, signal, undefined, header, iterate(messages))).message;
  }
}

async function* iterate<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

function failureOf(error: ConnectError): NonNullable<Outcome["error"]> {
  const code = (Code[error.code] ?? "").replace(/(?<!^)[A-Z]/g, "_$&").toUpperCase();
  const details = DETAILS.flatMap((schema) =>
    error.findDetails(schema).map((detail) => ({
      type: schema.typeName,
      ...(toJson(schema, detail, JSON_NAMES) as JsonObject),
    })),
  );
  return { code, details };
}
