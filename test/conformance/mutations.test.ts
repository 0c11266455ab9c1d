import * as http from "node:http";
import * as http2 from "node:http2";
import * as net from "node:net";
import {
  create,
  type DescMethod,
  type Message,
  type MessageInitShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConnectRequestSchema, ProviderService } from "../../gen/ts/harnessruntime/provider/v1/provider_service_pb.js";
import { AttachExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/attach_pb.js";
import { ListEventsRequestSchema, WatchEventsRequestSchema } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { Topology } from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import type { Runtime } from "../../src/core/runtime.js";
import { openRemoteProviders } from "../../src/providers/remote/remote-providers.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { envelope } from "../../src/server/event-frames.js";
import { type RunningServer, startServer } from "../../src/server/server.js";
import { openMemoryStore } from "../../src/store/memory.js";

/** Per protocol. */
const RUNS = process.env["SOAK"] === "1" ? 10_000 : 500;
const PATIENCE_MS = 10_000;

interface Call {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

let runtime: Runtime;
let server: RunningServer;
let executionId: string;
const store = openMemoryStore();
const logged: string[] = [];
const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => void logged.push(JSON.stringify(fields)) };

beforeAll(async () => {
  const remote = await openRemoteProviders({});
  runtime = await openRuntime({ store, providers: [scriptedProvider()] });
  server = await startServer({ runtime, port: 0, log, services: [remote.serve(runtime)] });
  const { executions } = clients();
  const { execution } = await executions.startExecution({ providerId: "scripted", input: { text: "hello" } });
  executionId = execution?.id ?? "";
  await executions.waitExecution({ executionId });
});

afterAll(async () => {
  await server.close(0);
  await runtime.close(0);
  await store.close();
});

function clients() {
  return { executions: createClient(ExecutionService, createGrpcTransport({ baseUrl: server.url })) };
}

/** The requests of a call of each kind of method that, unharmed, succeeds and ends. */
function requests(): readonly (readonly [DescMethod, ...Message[]])[] {
  const { startExecution, listEvents, watchEvents, attachExecution } = ExecutionService.method;
  const start = create(StartExecutionRequestSchema, {
    providerId: "scripted",
    input: { text: "hi", attachments: [{ mediaType: "a/b", source: { case: "uri", value: "x" } }] },
    config: { steps: [{ text: "a" }] },
    labels: { a: "b" },
    timeout: { seconds: 5n },
  });
  const attach = { command: { case: "attach" as const, value: { executionId } } };
  return [
    [startExecution, start],
    [listEvents, create(ListEventsRequestSchema, { executionId, eventTypes: ["run.*"], pageSize: 3 })],
    [watchEvents, create(WatchEventsRequestSchema, { executionId, maxBatch: 2 })],
    [attachExecution, create(AttachExecutionRequestSchema, attach)],
    [ProviderService.method.connect, ...dialIn()],
  ];
}

type Said = NonNullable<MessageInitShape<typeof ConnectRequestSchema>["message"]>;

/** What an instance says that has an attempt that nobody knows, and goes on with it all the same. */
function dialIn(): readonly Message[] {
  const attempt = { executionId, attempt: 1 };
  const manifest = {
    id: "remote",
    name: "Remote",
    version: "1",
    protocolVersion: "2026-09-02",
    topologies: [Topology.REMOTE],
  };
  const messages: readonly Said[] = [
    {
      case: "register",
      value: { manifest, instanceId: "i", capacity: 1, executions: [{ ...attempt, lastEmitId: 3 }] },
    },
    { case: "emit", value: { ...attempt, emitId: 4 } },
    { case: "requestAction", value: { ...attempt, emitId: 5, key: "k" } },
    {
      case: "finish",
      value: { ...attempt, emitId: 6, turn: 1, outcome: { result: { case: "success" as const, value: {} } } },
    },
    { case: "cancelled", value: { ...attempt, emitId: 7 } },
    { case: "heartbeat", value: {} },
  ];
  return messages.map((message) => create(ConnectRequestSchema, { message }));
}

/** How each protocol carries a request. */
const PROTOCOLS: readonly (readonly [
  string,
  (method: DescMethod, messages: readonly Message[]) => Omit<Call, "path">,
])[] = [
  [
    "gRPC",
    (method, messages) => ({
      headers: { "content-type": "application/grpc", te: "trailers" },
      body: frames(method, messages),
    }),
  ],
  [
    "gRPC-Web",
    (method, messages) => ({
      headers: { "content-type": "application/grpc-web+proto" },
      body: frames(method, messages),
    }),
  ],
  [
    "Connect, binary",
    (method, messages) =>
      method.methodKind === "unary"
        ? { headers: { "content-type": "application/proto" }, body: Buffer.concat(binary(method, messages)) }
        : { headers: { "content-type": "application/connect+proto" }, body: frames(method, messages) },
  ],
  [
    "Connect, JSON",
    (method, messages) => {
      const json = messages.map((message) => Buffer.from(toJsonString(method.input, message)));
      return method.methodKind === "unary"
        ? { headers: { "content-type": "application/json", "connect-timeout-ms": "4000" }, body: Buffer.concat(json) }
        : { headers: { "content-type": "application/connect+json" }, body: Buffer.concat(json.map(envelope)) };
    },
  ],
];

function binary(method: DescMethod, messages: readonly Message[]): Uint8Array[] {
  return messages.map((message) => toBinary(method.input, message));
}

function frames(method: DescMethod, messages: readonly Message[]): Buffer {
  return Buffer.concat(binary(method, messages).map((bytes) => envelope(bytes)));
}

/** One change of some bytes; positions are fractions of their length. */
const mutation = fc.record({
  kind: fc.constantFrom("flip", "cut", "insert", "repeat", "drop"),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  byte: fc.integer({ min: 0, max: 255 }),
});
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

function mutate(bytes: Buffer, mutations: readonly Mutation[]): Buffer {
  return mutations.reduce((changed, { kind, at, byte }) => {
    const index = Math.floor(at * changed.length);
    const [before, after] = [changed.subarray(0, index), changed.subarray(index)];
    switch (kind) {
      case "cut":
        return before;
      case "insert":
        return Buffer.concat([before, Buffer.of(byte), after]);
      case "repeat":
        return Buffer.concat([before, after, after]);
      case "drop":
        return Buffer.concat([before, after.subarray(1)]);
      default:
        return Buffer.concat([before, Buffer.of((after[0] ?? 0) ^ (byte || 1)), after.subarray(1)]);
    }
  }, bytes);
}

const HEADERS = [
  "content-type",
  "content-encoding",
  "grpc-encoding",
  "connect-content-encoding",
  "grpc-timeout",
  "connect-timeout-ms",
  "connect-protocol-version",
  "grpc-accept-encoding",
  "accept-encoding",
  "authorization",
  "origin",
];
const headerChange = fc.record({
  name: fc.constantFrom(...HEADERS),
  value: fc.oneof(
    fc.constantFrom(
      "",
      "gzip",
      "br",
      "identity",
      "-1",
      "99999999H",
      "1n",
      "application/json",
      "application/grpc+json",
      "\t",
    ),
    fc.string({ maxLength: 20 }).map((text) => text.replace(/[^\x20-\x7e]/g, "~")),
  ),
});

const harmed = fc.record({
  request: fc.integer({ min: 0, max: 4 }),
  http1: fc.boolean(),
  mutations: fc.array(mutation, { maxLength: 4 }),
  headers: fc.array(headerChange, { maxLength: 2 }),
  query: fc.option(fc.string({ maxLength: 30 }).map((text) => encodeURI(`?encoding=json&base64=1&message=${text}`))),
});

async function callHttp1({ path, headers, body }: Call, method: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { port } = server;
    const request = http.request({
      host: "127.0.0.1",
      port,
      path,
      method,
      headers,
      agent: false,
      timeout: PATIENCE_MS,
    });
    request.on("timeout", () => request.destroy(new Error("hangs")));
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const fields = { ...response.headers, ...response.trailers };
        resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("latin1"), fields });
      });
    });
    request.end(method === "POST" ? body : undefined);
  });
}

async function callHttp2(
  session: http2.ClientHttp2Session,
  { path, headers, body }: Call,
  method: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": method, ":path": path, ...headers });
    const chunks: Buffer[] = [];
    let fields: Record<string, unknown> = {};
    stream.setTimeout(PATIENCE_MS, () => reject(new Error("hangs")));
    stream.on("response", (received) => {
      fields = { ...fields, ...received };
    });
    stream.on("trailers", (received) => {
      fields = { ...fields, ...received };
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      resolve({ code: Number(fields[":status"] ?? 0), text: Buffer.concat(chunks).toString("latin1"), fields });
    });
    stream.end(method === "POST" ? body : undefined);
  });
}

/** An internal error carries the ID under which it was logged; nothing the caller sends is one. */
function checkAnswer({ code, text, fields }: Answer): void {
  expect(code).toBeGreaterThanOrEqual(200);
  expect(code).not.toBe(500);
  expect(fields["grpc-status"]).not.toBe("13");
  expect(text).not.toMatch(/grpc-status: 13|"code":"internal"/);
}

describe("mutated requests", () => {
  test.each(PROTOCOLS)("W04 over %s never crash the server, hang, or make an internal error", async (_, carry) => {
    const session = http2.connect(server.url);
    session.on("error", () => undefined);
    const property = fc.asyncProperty(harmed, async ({ request, http1, mutations, headers, query }) => {
      const [method, ...messages] = requests()[request]!;
      const call = carry(method, messages);
      const changed: Call = {
        path: `/${method.parent.typeName}/${method.name}${query ?? ""}`,
        headers: { ...call.headers, ...Object.fromEntries(headers.map(({ name, value }) => [name, value])) },
        body: mutate(call.body, mutations),
      };
      const verb = query === null ? "POST" : "GET";
      checkAnswer(await (http1 ? callHttp1(changed, verb) : callHttp2(session, changed, verb)));
    });
    await fc.assert(property, { numRuns: RUNS });
    session.destroy();
    expect(logged).toEqual([]);
  });

  test("W04 as bytes of HTTP/1.1 and HTTP/2 never crash the server", async () => {
    const text = `POST /harnessruntime.v1.ExecutionService/ListEvents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`;
    const recorded = [Buffer.from(text), await recordHttp2()];
    const property = fc.asyncProperty(
      fc.nat(1),
      fc.array(mutation, { minLength: 1, maxLength: 5 }),
      async (which, mutations) => {
        await sendBytes(mutate(recorded[which]!, mutations));
      },
    );
    await fc.assert(property, { numRuns: RUNS });
    const { execution } = await clients().executions.getExecution({ executionId });
    expect(execution?.id).toBe(executionId);
    expect(logged).toEqual([]);
  });
});

/** Resolves with what a gRPC client sends for one call. */
async function recordHttp2(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const proxy = net.createServer((socket) => {
    const upstream = net.connect(server.port, "127.0.0.1");
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.pipe(upstream).pipe(socket);
    socket.on("error", () => upstream.destroy());
    upstream.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as net.AddressInfo;
  const client = createClient(ExecutionService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));
  await client.listEvents({ executionId });
  proxy.close();
  return Buffer.concat(chunks);
}

/** Sends bytes, half-closes, and resolves when the server has closed too, or shortly after it said something. */
async function sendBytes(bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = net.connect(server.port, "127.0.0.1", () => socket.end(bytes));
    socket.setTimeout(PATIENCE_MS, () => reject(new Error("hangs")));
    socket.on("data", () => socket.destroy());
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
  });
}
