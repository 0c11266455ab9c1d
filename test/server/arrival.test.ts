import * as http2 from "node:http2";
import { describe, expect, test } from "vitest";
import { createDrain } from "../../src/server/drain.js";
import { envelope } from "../../src/server/event-frames.js";
import { serve } from "./support/serve.js";

const SERVICE = "/harnessruntime.v1.ExecutionService";
const SLOW = { headersTimeoutMs: 40, requestTimeoutMs: 40 };

/** Opens a call, sends `body` and leaves it open; resolves with all that its answer says. */
function open(session: http2.ClientHttp2Session, method: string, type: string, body?: Uint8Array): Promise<string> {
  const call = session.request({ ":method": "POST", ":path": `${SERVICE}/${method}`, "content-type": type });
  if (body !== undefined) call.write(body);
  const said: string[] = [];
  const note = (headers: object): unknown => said.push(JSON.stringify(headers));
  call.on("response", note);
  call.on("trailers", note);
  call.setEncoding("latin1");
  call.on("data", (text: string) => said.push(text));
  return new Promise((resolve, reject) => {
    call.on("error", reject);
    call.on("close", () => resolve(decodeURIComponent(said.join(" "))));
  });
}

/** Resolves once the server has taken everything that was sent before: a ping goes before it, but not the next one. */
async function taken(session: http2.ClientHttp2Session): Promise<void> {
  await new Promise((resolve) => session.ping(resolve));
  await new Promise((resolve) => session.ping(resolve));
}

async function connect(options: Parameters<typeof serve>[0] = {}) {
  const { server, fake } = await serve(options);
  const session = http2.connect(server.url);
  await new Promise((resolve) => session.once("connect", resolve));
  return { server, fake, session };
}

describe("a request that does not arrive", () => {
  test.each([
    ["StartExecution", "application/grpc", '"grpc-status":"3"'],
    ["StartExecution", "application/grpc-web+proto", "grpc-status: 3"],
    ["StartExecution", "application/json", '"code":"invalid_argument"'],
    ["WatchEvents", "application/grpc", '"grpc-status":"3"'],
    ["WatchEvents", "application/connect+json", '"code":"invalid_argument"'],
    ["AttachExecution", "application/grpc", '"grpc-status":"3"'],
    ["AttachExecution", "application/connect+json", '"code":"invalid_argument"'],
  ])("is refused: %s as %s", async (method, type, code) => {
    const { session, fake } = await connect({ limits: SLOW });
    const said = await open(session, method, type, Buffer.from([0]));
    expect(said).toContain(code);
    expect(said).toContain("did not arrive within 0.04 s");
    expect(fake.calls).toEqual([]);
    session.destroy();
  });

  test("is refused over HTTP/1.1 too", async () => {
    const { server } = await serve({ limits: SLOW });
    const body = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from("{")) });
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body, duplex: "half" };
    const response = await fetch(`${server.url}${SERVICE}/StartExecution`, init as RequestInit);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("VALIDATION_ERROR");
  });

  test("is not a stream of messages that is silent after the first", async () => {
    const { session } = await connect({ limits: SLOW });
    const start = Buffer.from('{"start":{"providerId":"fake","input":{"text":"hi"}}}');
    const silent = open(session, "AttachExecution", "application/connect+json", envelope(start));
    expect(await open(session, "StartExecution", "application/json")).toContain("did not arrive");
    const first = await Promise.race([silent, taken(session)]);
    expect(first).toBeUndefined();
    session.destroy();
  });

  test.each([
    ["AttachExecution", "application/grpc", undefined],
    ["AttachExecution", "application/connect+json", Buffer.from([0])],
    ["WatchEvents", "application/grpc", undefined],
    ["WatchExecutions", "application/connect+json", Buffer.from([0])],
    ["WaitExecution", "application/json", undefined],
  ])("does not hold up a drain: %s as %s", async (method, type, body) => {
    const { server, session } = await connect();
    const call = open(session, method, type, body);
    await taken(session);
    await server.drain(600_000);
    expect(await call).toContain("the server is shutting down: call again");
    session.destroy();
  });

  test("is still waited for while the server drains where it is answered then", async () => {
    const { server, session } = await connect();
    const call = session.request({
      ":method": "POST",
      ":path": `${SERVICE}/GetExecution`,
      "content-type": "application/grpc",
    });
    call.resume();
    const trailers = new Promise<http2.IncomingHttpHeaders>((resolve) => call.on("trailers", resolve));
    await taken(session);
    const draining = server.drain(600_000);
    call.end(envelope(new Uint8Array(0)));
    expect((await trailers)["grpc-status"]).toBe("3");
    await draining;
    session.destroy();
  });
});

test("who asks to be told of a drain that has begun is told at once", () => {
  const drain = createDrain();
  const told: string[] = [];
  drain.onBegin(() => told.push("before"));
  drain.onBegin(() => told.push("taken back"))();
  drain.begin();
  drain.onBegin(() => told.push("after"));
  expect(told).toEqual(["before", "after"]);
});
