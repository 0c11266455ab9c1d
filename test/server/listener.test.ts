import * as http2 from "node:http2";
import * as net from "node:net";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { StartExecutionRequestSchema } from "../../gen/ts/harnessruntime/v1/execution_commands_pb.js";
import { ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import type { WebPages } from "../../src/server/adapter.js";
import { envelope } from "../../src/server/event-frames.js";
import { respond } from "../../src/server/respond.js";
import { WIRES } from "./support/clients.js";
import { collect, failure, infoOf, serve } from "./support/serve.js";

const START_PATH = "/harnessruntime.v1.ExecutionService/StartExecution";
const ATTACH_PATH = "/harnessruntime.v1.ExecutionService/AttachExecution";

/** Opens a bare connection and resolves with what the server says until it closes it. */
async function talk(port: number, ...writes: (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const socket = net.connect(port, "127.0.0.1", () => {
      for (const bytes of writes) socket.write(bytes);
    });
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      said += text;
    });
    socket.on("error", (error: NodeJS.ErrnoException) => (error.code === "ECONNRESET" ? resolve(said) : reject(error)));
    socket.on("close", () => resolve(said));
  });
}

describe("the port", () => {
  test("takes a preface that comes byte by byte for HTTP/2", async () => {
    const { server } = await serve();
    const socket = net.connect(server.port, "127.0.0.1");
    const answer = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    for (const byte of Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) {
      await new Promise((resolve) => socket.write(Buffer.of(byte), resolve));
    }
    socket.write(Buffer.from("000000040000000000", "hex"));
    // The type of the first frame: SETTINGS.
    expect((await answer)[3]).toBe(4);
    socket.destroy();
  });

  test("closes a connection that says nothing", async () => {
    const { server } = await serve({ limits: { firstByteTimeoutMs: 30 } });
    expect(await talk(server.port)).toBe("");
    expect(await talk(server.port, "PRI * HTTP")).toBe("");
  });

  test("closes an HTTP/2 connection whose client no longer answers, and keeps one that does", async () => {
    const { server } = await serve({ limits: { pingIntervalMs: 40 } });
    const alive = http2.connect(server.url);
    await new Promise((resolve) => alive.once("connect", resolve));
    const settings = Buffer.from("000000040000000000", "hex");
    // Closes because nobody answers the ping.
    await talk(server.port, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", settings);
    expect(alive.closed).toBe(false);
    await new Promise<void>((resolve) => alive.ping(() => resolve()));
    alive.destroy();
  });

  test("tells an HTTP/2 connection without a stream to go away, although its client answers pings", async () => {
    const { server, fake, url } = await serve({ limits: { pingIntervalMs: 20, idleConnectionTimeoutMs: 40 } });
    const client = createClient(ExecutionService, createGrpcTransport({ baseUrl: url }));
    await client.startExecution({ providerId: "fake", input: { text: "hi" } });
    const busy = http2.connect(url);
    const path = "/harnessruntime.v1.ExecutionService/WatchEvents";
    const watch = busy.request({ ":method": "POST", ":path": path, "content-type": "application/connect+json" });
    watch.end(envelope(Buffer.from('{"executionId":"exe_1"}')));
    await new Promise((resolve) => watch.once("data", resolve));

    const idle = http2.connect(url);
    const code = new Promise<number>((resolve) => idle.once("goaway", resolve));
    await new Promise((resolve) => idle.once("close", resolve));
    expect(await code).toBe(http2.constants.NGHTTP2_NO_ERROR);
    await new Promise<void>((resolve) => busy.ping(() => resolve()));
    expect(busy.closed).toBe(false);

    const over = new Promise((resolve) => busy.once("close", resolve));
    watch.resume();
    fake.append("exe_1", [], ExecutionState.SUCCEEDED);
    await over;
    // The RPC library's connection was told as well, and another is opened for the next call.
    expect((await client.getExecution({ executionId: "exe_1" })).execution?.id).toBe("exe_1");
    await server.close();
  });

  test.each([
    ["OPTIONS", START_PATH],
    ["HEAD", "/"],
    ["HEAD", "/nothing"],
    ["HEAD", START_PATH],
    ["PUT", START_PATH],
    ["GET", "/"],
    ["GET", "/nothing"],
    ["POST", ATTACH_PATH],
  ])(
    "tells a connection to go away whose %s %s was answered, although it never ends the request",
    async (method, path) => {
      const pages: WebPages = ({ url }, response) => {
        if (url === "/") respond(response, 304, {});
        return url === "/";
      };
      const limits = { pingIntervalMs: 20, idleConnectionTimeoutMs: 40, requestTimeoutMs: 40, headersTimeoutMs: 40 };
      const { server } = await serve({ pages, limits });
      const session = http2.connect(server.url);
      const headers = { ":method": method, ":path": path, "content-type": "application/grpc" };
      const open = session.request(headers, { endStream: false });
      const code = new Promise((resolve) => open.once("close", () => resolve(open.rstCode)));
      const status = new Promise((resolve) => open.once("response", (fields) => resolve(fields[":status"])));
      open.resume();
      expect(await status).toBeTypeOf("number");
      expect(await code).toBe(http2.constants.NGHTTP2_NO_ERROR);
      await new Promise((resolve) => session.once("close", resolve));
    },
  );

  test("answers what is not HTTP with an error", async () => {
    const { server } = await serve();
    expect(await talk(server.port, "\x16\x03\x01 hello\r\n\r\n")).toContain("400 Bad Request");
  });

  test("refuses header fields over the limit", async () => {
    const { server } = await serve({ limits: { maxHeaderBytes: 8_192 } });
    const text = `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(9_000)}\r\n\r\n`;
    expect(await talk(server.port, text)).toContain("431");
  });

  test("close frees the port and ends connections on any Node version", async () => {
    const { server } = await serve();
    const session = http2.connect(server.url);
    await new Promise((resolve) => session.once("connect", resolve));
    const closed = new Promise((resolve) => session.once("close", resolve));
    await server.close();
    await closed;
    await expect(talk(server.port)).rejects.toThrow("ECONNREFUSED");
    await server.close();
  });

  test("a port that is taken, or an address that is none of the machine's, is said with the way out", async () => {
    const { server } = await serve();
    await expect(serve({ port: server.port })).rejects.toMatchObject({
      code: "EADDRINUSE",
      message: `port ${server.port} is in use; give another one as port, or 0 for a free one`,
    });
    await expect(serve({ host: "192.0.2.1", allowInsecure: true })).rejects.toMatchObject({
      code: "EADDRNOTAVAIL",
      message: "192.0.2.1 is no address of this machine; give another one as host",
    });
  });
});

describe("request limits", () => {
  const limits = { maxRequestBytes: 10_000 };

  for (const wire of WIRES) {
    test(`W03 a message over the limit is RESOURCE_EXHAUSTED over ${wire.name}`, async () => {
      const { fake, url } = await serve({ limits });
      const client = createClient(ExecutionService, wire.connect(url));
      const error = await failure(client.startExecution({ providerId: "fake", input: { text: "x".repeat(10_001) } }));
      expect(error.code).toBe(Code.ResourceExhausted);
      expect(infoOf(error)).toEqual({ reason: "REQUEST_TOO_LARGE", metadata: { max_request_bytes: "10000" } });
      expect(fake.calls).toEqual([]);
      const { execution } = await client.startExecution({ providerId: "fake", input: { text: "x".repeat(9_900) } });
      expect(execution?.id).toBe("exe_1");
    });
  }

  test.each([
    ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl, sendCompression: compressionGzip })],
    [
      "Connect",
      (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "2", sendCompression: compressionGzip }),
    ],
  ])("W03 a gzip bomb is RESOURCE_EXHAUSTED over %s, and honest gzip is read", async (_, connect) => {
    const { url } = await serve({ limits });
    const client = createClient(ExecutionService, connect(url));
    const bomb = await failure(client.startExecution({ providerId: "fake", input: { text: "x".repeat(500_000) } }));
    expect(bomb.code).toBe(Code.ResourceExhausted);
    expect(infoOf(bomb).reason).toBe("REQUEST_TOO_LARGE");
    const { execution } = await client.startExecution({ providerId: "fake", input: { text: "x".repeat(9_000) } });
    expect(execution?.input?.text).toHaveLength(9_000);
    const [frame] = await collect(client.watchEvents({ executionId: "exe_1", follow: false }));
    expect(frame?.events).toHaveLength(1);
  });

  test("gzip that is none is the caller's fault", async () => {
    const { server } = await serve({ limits });
    const body = gzipSync(toBinary(StartExecutionRequestSchema, create(StartExecutionRequestSchema))).subarray(0, 12);
    const head = `POST ${START_PATH} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/proto\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`;
    expect(await talk(server.port, head, body)).toContain("400 Bad Request");
  });

  test("W03 a body over the limit is refused before it has all come", async () => {
    const { server } = await serve({ limits });
    const head = (length: string) =>
      `POST ${START_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${length}\r\n\r\n`;
    expect(await talk(server.port, head("content-length: 1000000000"))).toContain("429 Too Many Requests");
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
    expect(await talk(server.port, head("transfer-encoding: chunked"), chunk)).toContain("REQUEST_TOO_LARGE");
  });

  test.each([
    ["application/connect+json", '"code":"unimplemented"'],
    ["application/grpc-web+proto", "grpc-status: 12"],
    ["application/grpc", "505 HTTP Version Not Supported"],
  ])("W03 a bidi call over HTTP/1.1 as %s is refused at once, with its body still open", async (type, expected) => {
    const { server } = await serve();
    const head = `POST ${ATTACH_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`;
    const said = await talk(server.port, head);
    expect(said).toContain(expected);
    expect(decodeURIComponent(said)).toContain("AttachExecution is a bidirectional stream and needs HTTP/2");
  });

  test("a deadline that no timer can keep is none", async () => {
    const { fake, url } = await serve();
    fake.runtime.getExecution = async (_caller, executionId) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return create(ExecutionSchema, { id: executionId });
    };
    for (const wire of WIRES) {
      const client = createClient(ExecutionService, wire.connect(url));
      const headers = { "grpc-timeout": "99999999H", "connect-timeout-ms": `${2 ** 31}` };
      expect((await client.getExecution({ executionId: "x" }, { headers })).execution?.id).toBe("x");
    }
  });

  test("an envelope that announces too much is refused by its head", async () => {
    const { server } = await serve({ limits });
    const frame = envelope(new Uint8Array(0));
    Buffer.from(frame.buffer, frame.byteOffset).writeUInt32BE(0xffffffff, 1);
    const head = `POST ${START_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/grpc-web+proto\r\ntransfer-encoding: chunked\r\n\r\n5\r\n`;
    expect(await talk(server.port, head, frame, "\r\n")).toContain("grpc-status: 8");
  });
});
