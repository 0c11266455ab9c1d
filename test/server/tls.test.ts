import { readFileSync } from "node:fs";
import * as net from "node:net";
import * as tls from "node:tls";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { serve } from "./support/serve.js";

const read = (name: string): string => readFileSync(new URL(`testdata/${name}.pem`, import.meta.url), "utf8");
const certificate = { cert: read("cert"), key: read("key") };
const nodeOptions = { ca: certificate.cert };

test.each([
  ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl, nodeOptions })],
  ["Connect over HTTP/2", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "2", nodeOptions })],
  ["Connect over HTTP/1.1", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions })],
  ["gRPC-Web over HTTP/1.1", (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", nodeOptions })],
])("under TLS the port serves %s, streams too", async (_, connect) => {
  const { fake, url } = await serve({ tls: certificate });
  expect(url).toMatch(/^https:/);
  const client = createClient(ExecutionService, connect(url));
  await client.startExecution({ providerId: "fake", input: { text: "hi" } });
  fake.append("exe_1", ["a"], ExecutionState.SUCCEEDED);
  let count = 0;
  for await (const { events } of client.watchEvents({ executionId: "exe_1" })) count += events.length;
  expect(count).toBe(3);
});

test("ALPN tells the protocol, and without it HTTP/1.1 is spoken", async () => {
  const { server } = await serve({ tls: certificate });
  for (const [offered, agreed] of [
    [["h2", "http/1.1"], "h2"],
    [["http/1.1"], "http/1.1"],
    [undefined, false],
  ] as const) {
    const socket = tls.connect({
      port: server.port,
      host: "127.0.0.1",
      ca: certificate.cert,
      ...(offered !== undefined && { ALPNProtocols: [...offered] }),
    });
    await new Promise((resolve) => socket.once("secureConnect", resolve));
    expect(socket.alpnProtocol).toBe(agreed);
    socket.destroy();
  }
});

test("a plaintext caller, and one that never says anything, are dropped", async () => {
  const { server } = await serve({ tls: certificate, limits: { firstByteTimeoutMs: 50 } });
  for (const text of ["GET / HTTP/1.1\r\n\r\n", ""]) {
    const socket = net.connect(server.port, "127.0.0.1", () => socket.write(text));
    socket.on("error", () => undefined);
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
  }
});

test("close does not wait for a connection that is still in its handshake", async () => {
  const { server } = await serve({ tls: certificate, limits: { firstByteTimeoutMs: 600_000 } });
  const silent = net.connect(server.port, "127.0.0.1");
  silent.on("error", () => undefined);
  const closed = new Promise((resolve) => silent.once("close", resolve));
  await new Promise((resolve) => silent.once("connect", resolve));
  // Connections are taken in their order.
  const next = tls.connect({ port: server.port, host: "127.0.0.1", ca: certificate.cert });
  next.on("error", () => undefined);
  await new Promise((resolve) => next.once("secureConnect", resolve));
  silent.resume();
  await server.close(0);
  await closed;
});
