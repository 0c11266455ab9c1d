import { createRegistry } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/ts/google/rpc/error_details_pb.js";

export interface WireKind {
  readonly name: string;
  readonly bidi: boolean;
  connect(baseUrl: string, interceptors?: Interceptor[]): Transport;
}

const registry = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema);
const options = { acceptCompression: [], useBinaryFormat: true, jsonOptions: { registry } };

/** Every way a client of the RPC library may call. */
export const WIRES: readonly WireKind[] = [
  {
    name: "gRPC",
    bidi: true,
    connect: (baseUrl, interceptors = []) => createGrpcTransport({ ...options, baseUrl, interceptors }),
  },
  {
    name: "gRPC-Web over HTTP/2",
    bidi: true,
    connect: (baseUrl, interceptors = []) =>
      createGrpcWebTransport({ ...options, baseUrl, interceptors, httpVersion: "2" }),
  },
  {
    name: "gRPC-Web over HTTP/1.1",
    bidi: false,
    connect: (baseUrl, interceptors = []) =>
      createGrpcWebTransport({ ...options, baseUrl, interceptors, httpVersion: "1.1" }),
  },
  {
    name: "Connect over HTTP/2, binary",
    bidi: true,
    connect: (baseUrl, interceptors = []) =>
      createConnectTransport({ ...options, baseUrl, interceptors, httpVersion: "2" }),
  },
  {
    name: "Connect over HTTP/1.1, JSON",
    bidi: false,
    connect: (baseUrl, interceptors = []) =>
      createConnectTransport({ ...options, baseUrl, interceptors, httpVersion: "1.1", useBinaryFormat: false }),
  },
  {
    name: "Connect over HTTP/2, JSON",
    bidi: true,
    connect: (baseUrl, interceptors = []) =>
      createConnectTransport({ ...options, baseUrl, interceptors, httpVersion: "2", useBinaryFormat: false }),
  },
];
