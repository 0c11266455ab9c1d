/**
 * usage: reference-server.child.ts IMAGE
 *
 * A server for the Connect project's conformance runner, on this project's port, adapter and limits. IMAGE holds the files
 * of the runner as a FileDescriptorSet. Reads how to serve from standard input, as the runner writes it, says where it
 * serves, and serves until it is ended.
 */
import { readFileSync } from "node:fs";
import {
  create,
  createFileRegistry,
  type DescMessage,
  type FileRegistry,
  fromBinary,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createConnectRouter } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { createAccessPolicy } from "../../../src/server/access.js";
import { createAdapter } from "../../../src/server/adapter.js";
import { createDrain } from "../../../src/server/drain.js";
import { DEFAULT_LIMITS } from "../../../src/server/limits.js";
import { listen } from "../../../src/server/listener.js";
import { referenceService } from "./reference-service.js";

/** How the runner wants to be served. */
type Wanted = Message & {
  readonly useTls: boolean;
  readonly messageReceiveLimit: number;
  readonly serverCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array };
};

const log = { debug() {}, info() {}, warn() {}, error() {} };

async function main(image: string): Promise<void> {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(image)));
  const wanted = fromBinary(messageOf(registry, "ServerCompatRequest"), await readMessage()) as Wanted;
  const port = await serve(registry, wanted);
  const pemCert = wanted.useTls ? (wanted.serverCreds?.cert ?? new Uint8Array()) : new Uint8Array();
  const schema = messageOf(registry, "ServerCompatResponse");
  writeMessage(toBinary(schema, create(schema, { host: "127.0.0.1", port, pemCert })));
}

async function serve(registry: FileRegistry, { useTls, messageReceiveLimit, serverCreds }: Wanted): Promise<number> {
  const { service, implementation } = referenceService(registry);
  const router = createConnectRouter({
    acceptCompression: [compressionGzip],
    readMaxBytes: messageReceiveLimit > 0 ? messageReceiveLimit : DEFAULT_LIMITS.maxRequestBytes,
    jsonOptions: { registry },
  });
  router.service(service, implementation);
  const host = "127.0.0.1";
  const adapter = createAdapter({
    handlers: router.handlers,
    access: createAccessPolicy({ host, authenticated: false, allowedHosts: [], corsOrigins: [] }),
    log,
    nextErrorId: () => "0",
    pages: undefined,
    arrival: { timeoutMs: 60_000, drain: createDrain() },
    outlivesDrain: () => false,
  });
  const tls =
    useTls && serverCreds ? { cert: Buffer.from(serverCreds.cert), key: Buffer.from(serverCreds.key) } : undefined;
  const { port } = await listen({ host, port: 0, tls, limits: DEFAULT_LIMITS, log, onRequest: adapter.serve });
  return port;
}

function messageOf(registry: FileRegistry, name: string): DescMessage {
  const found = registry.getMessage(`connectrpc.conformance.v1.${name}`);
  if (found === undefined) throw new Error(`no message ${name}`);
  return found;
}

/** Four bytes of length, then the message. */
async function readMessage(): Promise<Uint8Array> {
  let bytes = Buffer.alloc(0);
  for await (const piece of process.stdin) {
    bytes = Buffer.concat([bytes, piece as Buffer]);
    if (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) break;
  }
  return bytes.subarray(4, 4 + bytes.readUInt32BE(0));
}

function writeMessage(message: Uint8Array): void {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length, 0);
  process.stdout.write(Buffer.concat([length, message]));
}

await main(process.argv[2] ?? "");
