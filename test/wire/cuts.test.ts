import type { JsonObject } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import type { Event } from "../../gen/ts/harnessruntime/v1/event_pb.js";
import { attach } from "../../src/client/attach.js";
import type { HarnessClient } from "../../src/client/client.js";
import { createHarnessClient } from "../../src/client/node.js";
import { runToEnd } from "../../src/client/run.js";
import { CUTS, followThroughCuts, HEARTBEAT_MS, type Seen } from "./cuts.js";

/** As long as a silent stream is waited for, for connections too: half-open ones are found by pings. */
const PINGS = { pingIntervalMs: 2 * HEARTBEAT_MS, pingTimeoutMs: HEARTBEAT_MS };

const WAYS: readonly [name: string, bidi: boolean, transport: (baseUrl: string) => Transport][] = [
  ["gRPC", true, (baseUrl) => createGrpcTransport({ baseUrl, ...PINGS })],
  ["Connect over HTTP/2", true, (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", ...PINGS })],
  ["Connect over HTTP/1.1", false, (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC-Web over HTTP/1.1", false, (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
];

function connect(baseUrl: string, bidi: boolean, transport: (baseUrl: string) => Transport): HarnessClient {
  return createHarnessClient({
    baseUrl,
    transport: { transport: transport(baseUrl), bidi },
    heartbeatIntervalMs: HEARTBEAT_MS,
    callTimeoutMs: 500,
    retry: { baseDelayMs: 5, maxDelayMs: 50, callGiveUpMs: 30_000, streamGiveUpMs: 30_000 },
  });
}

function seenOf(executionId: string, events: readonly Event[]): Seen {
  const text = events.map(({ payload }) => (payload.case === "outputTextDelta" ? payload.value.text : "")).join("");
  return { executionId, sequences: events.map(({ sequence }) => sequence), text };
}

describe.each(WAYS)("R05 over %s, a connection that is cut at any byte loses nothing", (_, bidi, transport) => {
  test(`following, ${CUTS} times`, { timeout: CUTS * 5_000 }, async () => {
    const { executions } = await followThroughCuts(CUTS, async (url: string, config: JsonObject) => {
      const events: Event[] = [];
      const request = { providerId: "scripted", input: { text: "go" }, config };
      const { id } = await runToEnd(connect(url, bidi, transport), request, {
        onEvent: (event) => void events.push(event),
      });
      return seenOf(id, events);
    });
    expect(executions).toBeGreaterThan(0);
  });

  test(`attached, ${CUTS} times`, { timeout: CUTS * 5_000 }, async () => {
    const { executions } = await followThroughCuts(CUTS, async (url: string, config: JsonObject) => {
      const start = { providerId: "scripted", input: { text: "go" }, config };
      const attachment = await attach(connect(url, bidi, transport), { start });
      return seenOf(attachment.snapshot.id, await Array.fromAsync(attachment));
    });
    expect(executions).toBeGreaterThan(0);
  });
});
