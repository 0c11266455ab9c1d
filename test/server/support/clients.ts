import { createRegistry } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/ts/google/rpc/error_details_pb.js";

export interface WireKind {
  readonly name: string;
  readonly bidi: boolean;
  connect(baseUrl: string): Transport;
}

const registry = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema);
const options = { acceptCompression: [], useBinaryFormat: true, jsonOptions: { registry } };

/** Every way a client of the RPC library may call. */
export const WIRES: readonly WireKind[] = [
  { name: "gRPC", bidi: true, connect: (baseUrl) => createGrpcTransport({ ...options, baseUrl }) },
  {
    name: "gRPC-Web over HTTP/2",
    bidi: true,
    connect: (baseUrl) => createGrpcWebTransport({ ...options, baseUrl, httpVersion: "2" }),
  },
  {
    name: "gRPC-Web over HTTP/1.1",
    bidi: false,
    connect: (baseUrl) => createGrpcWebTransport({ ...options, baseUrl, httpVersion: "1.1" }),
  },
  {
    name: "Connect over HTTP/2, binary",
    bidi: true,
    connect: (baseUrl) => createConnectTransport({ ...options, baseUrl, httpVersion: "2" }),
  },
  {
    name: "Connect over HTTP/1.1, JSON",
    bidi: false,
    connect: (baseUrl) => createConnectTransport({ ...options, baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  },
  {
    name: "Connect over HTTP/2, JSON",
    bidi: true,
    connect: (baseUrl) => createConnectTransport({ ...options, baseUrl, httpVersion: "2", useBinaryFormat: false }),
  },
];
