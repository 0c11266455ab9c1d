import { mkdtempSync, rmSync } from "node:fs";
import * as http2 from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { ActionService } from "../../gen/ts/harnessruntime/v1/action_service_pb.js";
import { WatchEventsRequestSchema, WatchEventsResponseSchema } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { openRuntime } from "../../src/core/open-runtime.js";
import { scriptedProvider } from "../../src/providers/scripted/scripted.js";
import { envelope } from "../../src/server/event-frames.js";
import { startServer } from "../../src/server/server.js";
import { openSqliteStore } from "../../src/store/sqlite.js";

const EVENTS = process.env["SOAK"] === "1" ? 1_000_000 : 30_000;
const MIB = 1024 * 1024;

/** What is in use after a collection, in bytes. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function serve(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "harness-slow-"));
  const store = await openSqliteStore({ dataDir: folder, synchronous: "normal" });
  const runtime = await openRuntime({ store, providers: [scriptedProvider()], dataDir: folder });
  const server = await startServer({ runtime, port: 0 });
  onTestFinished(async () => {
    await server.close(0);
    await runtime.close(0);
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return server.url;
}

/** Watches an execution by a stream that is not read until it is told to; then counts what comes. */
async function openStuckReader(url: string, executionId: string): Promise<() => Promise<number>> {
  const session = http2.connect(url);
  onTestFinished(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": "/harnessruntime.v1.ExecutionService/WatchEvents",
    "content-type": "application/grpc",
  });
  stream.end(envelope(toBinary(WatchEventsRequestSchema, create(WatchEventsRequestSchema, { executionId }))));
  await new Promise((resolve) => stream.once("response", resolve));
  return async () => {
    let last = 0;
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of stream) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1);
        for (const { sequence } of fromBinary(WatchEventsResponseSchema, rest.subarray(5, end)).events) {
          expect(sequence).toBe(last + 1);
          last = sequence;
        }
        rest = rest.subarray(end);
      }
    }
    return last;
  };
}

/** Resolves with the execution's action, once it is open. */
async function openAction(client: Client<typeof ExecutionService>, executionId: string): Promise<string> {
  for await (const { events } of client.watchEvents({ executionId, eventTypes: ["action.required"] })) {
    for (const { payload } of events) if (payload.case === "actionRequired") return payload.value.action?.id ?? "";
  }
  throw new Error("no action");
}

test(`R08 a reader that never reads while ${EVENTS} events pass keeps nothing, holds nobody up, and may read on later`, async () => {
  const url = await serve();
  const client = createClient(ExecutionService, createGrpcTransport({ baseUrl: url }));
  const { execution } = await client.startExecution({
    providerId: "scripted",
    input: { text: "go" },
    config: { steps: [{ approval: {} }, { flood: { count: EVENTS, bytes: 100 } }] },
  });
  const executionId = execution?.id ?? "";
  const readOn = await openStuckReader(url, executionId);
  const before = usedBytes();
  const actionId = await openAction(client, executionId);
  const actions = createClient(ActionService, createGrpcTransport({ baseUrl: url }));
  await actions.respondAction({ executionId, actionId, response: { approved: true } });

  let count = 0;
  for await (const { events } of client.watchEvents({ executionId })) count += events.length;
  expect(count).toBeGreaterThan(EVENTS);
  expect(usedBytes() - before).toBeLessThan(20 * MIB);
  expect(await readOn()).toBe(count);
});
