import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Code, ConnectError, type StreamResponse, type Transport, type UnaryResponse } from "@connectrpc/connect";
import * as grpc from "@grpc/grpc-js";
import { StatusSchema } from "../../../gen/ts/google/rpc/status_pb.js";

/** A transport of the RPC library over the client `@grpc/grpc-js`, so that one suite runs over both. */
export interface GrpcJsTransport extends Transport {
  close(): void;
}

/** `header` is sent with every call. */
export function createGrpcJsTransport(address: string, header: Readonly<Record<string, string>> = {}): GrpcJsTransport {
  const client = new grpc.Client(address, grpc.credentials.createInsecure());
  const metadata = (): grpc.Metadata => {
    const fields = new grpc.Metadata();
    for (const [name, value] of Object.entries(header)) fields.set(name, value);
    return fields;
  };
  return {
    close: () => client.close(),
    async unary(method, signal, timeoutMs, _header, input) {
      const message = await new Promise<MessageShape<typeof method.output>>((resolve, reject) => {
        const call = client.makeUnaryRequest(
          pathOf(method),
          encoder(method.input),
          decoder(method.output),
          create(method.input, input),
          metadata(),
          optionsOf(timeoutMs),
          (error, response) => (error === null ? resolve(response as never) : reject(toConnectError(error))),
        );
        signal?.addEventListener("abort", () => call.cancel());
      });
      return {
        stream: false,
        service: method.parent,
        method,
        header: new Headers(),
        trailer: new Headers(),
        message,
      } as UnaryResponse<typeof method.input, typeof method.output>;
    },
    async stream(method, signal, timeoutMs, _header, input) {
      const call = client.makeBidiStreamRequest(
        pathOf(method),
        encoder(method.input),
        decoder(method.output),
        metadata(),
        optionsOf(timeoutMs),
      );
      signal?.addEventListener("abort", () => call.cancel());
      void sendAll(method.input, input, call);
      return {
        stream: true,
        service: method.parent,
        method,
        header: new Headers(),
        trailer: new Headers(),
        message: readAll(call),
      } as unknown as StreamResponse<typeof method.input, typeof method.output>;
    },
  };
}

async function sendAll<I extends DescMessage>(
  schema: I,
  input: AsyncIterable<MessageInitShape<I>>,
  call: grpc.ClientDuplexStream<MessageShape<I>, unknown>,
): Promise<void> {
  for await (const message of input) call.write(create(schema, message));
  call.end();
}

async function* readAll<I, O>(call: grpc.ClientDuplexStream<I, O>): AsyncGenerator<O> {
  try {
    for await (const message of call) yield message as O;
  } catch (error) {
    throw toConnectError(error as grpc.ServiceError);
  } finally {
    call.cancel();
  }
}

function toConnectError({ code, details, metadata }: grpc.ServiceError): ConnectError {
  const error = new ConnectError(details, code as number as Code);
  const [status] = metadata?.get("grpc-status-details-bin") ?? [];
  if (Buffer.isBuffer(status)) {
    error.details = fromBinary(StatusSchema, status).details.map(({ typeUrl, value }) => ({
      type: typeUrl.replace(/^.*\//, ""),
      value,
    }));
  }
  return error;
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function encoder<I extends DescMessage>(schema: I): (message: MessageShape<I>) => Buffer {
  return (message) => Buffer.from(toBinary(schema, message));
}

function decoder<O extends DescMessage>(schema: O): (bytes: Buffer) => MessageShape<O> {
  return (bytes) => fromBinary(schema, bytes);
}

function optionsOf(timeoutMs: number | undefined): grpc.CallOptions {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}
