import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import type { WatchEventsResponse } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { HarnessError } from "../../src/core/errors.js";
import { WIRES } from "./support/clients.js";
import { createFakeRuntime } from "./support/fake-runtime.js";
import { collect, failure, infoOf, serve } from "./support/serve.js";

for (const sideDoor of [true, false]) {
  for (const wire of WIRES) {
    describe(`event streams over ${wire.name} with the side door ${sideDoor ? "on" : "off"}`, () => {
      async function open(fake = createFakeRuntime()) {
        const { server } = await serve({ sideDoor }, fake);
        const client = createClient(ExecutionService, wire.connect(server.url));
        const { execution } = await client.startExecution({ providerId: "fake", input: { text: "hi" } });
        return { fake, server, client, executionId: execution?.id ?? "" };
      }

      test("every event arrives once and in order, then the stream ends", async () => {
        const { fake, client, executionId } = await open();
        let frames = 0;
        const responses = await collect(client.watchEvents({ executionId }), () => {
          frames++;
          if (frames <= 20) fake.append(executionId, [`a${frames}`, "ü".repeat(300)]);
          if (frames === 20) fake.append(executionId, [], ExecutionState.SUCCEEDED);
        });
        const events = responses.flatMap((response) => response.events);
        expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 42 }, (_, index) => index + 1));
        expect(events[2]?.payload).toMatchObject({ value: { text: "ü".repeat(300) } });
        expect(events.at(-1)?.payload.case).toBe("runCompleted");
        expect(fake.watchers.size).toBe(0);
      });

      test("a big backlog arrives whole", async () => {
        const { fake, client, executionId } = await open();
        fake.append(
          executionId,
          Array.from({ length: 4_000 }, (_, index) => `${index}${"x".repeat(1_000)}`),
        );
        fake.append(executionId, [], ExecutionState.SUCCEEDED);
        const sequences: number[] = [];
        let last: WatchEventsResponse | undefined;
        for await (const response of client.watchEvents({ executionId })) {
          sequences.push(...response.events.map(({ sequence }) => sequence));
          expect(response.nextAfterSequence).toBe(sequences.at(-1) ?? 0);
          last = response;
        }
        expect(sequences).toEqual(Array.from({ length: 4_002 }, (_, index) => index + 1));
        expect(last).toMatchObject({ nextAfterSequence: 4_002, headSequence: 4_002, state: ExecutionState.SUCCEEDED });
      });

      test("a heartbeat is an empty frame with the head", async () => {
        const { client, executionId } = await open(createFakeRuntime({ heartbeatIntervalMs: 5 }));
        const frames: WatchEventsResponse[] = [];
        for await (const response of client.watchEvents({ executionId, afterSequence: 1 })) {
          frames.push(response);
          if (frames.length === 3) break;
        }
        expect(frames.map(({ events, headSequence }) => [events.length, headSequence])).toEqual([
          [0, 1],
          [0, 1],
          [0, 1],
        ]);
      });

      test("W02 an error before the first message and one in mid-stream keep their details", async () => {
        const { fake, client, executionId } = await open();
        const early = await failure(collect(client.watchEvents({ executionId, afterSequence: 9 })));
        expect(early.code).toBe(Code.OutOfRange);
        expect(infoOf(early)).toEqual({ reason: "CURSOR_AHEAD", metadata: { head_sequence: "1" } });
        const watching = collect(client.watchEvents({ executionId }), () => {
          fake.failure = new HarnessError(ErrorReason.STORE_UNAVAILABLE, "disk full", { path: "x" }, { retryMs: 5 });
          fake.append(executionId, ["wake"]);
        });
        const late = await failure(watching);
        expect(late.code).toBe(Code.Unavailable);
        expect(infoOf(late)).toEqual({ reason: "STORE_UNAVAILABLE", metadata: { path: "x" } });
      });

      test("a deadline ends the stream with DEADLINE_EXCEEDED", async () => {
        const { fake, client, executionId } = await open();
        const error = await failure(collect(client.watchEvents({ executionId }, { timeoutMs: 150 })));
        expect(error.code).toBe(Code.DeadlineExceeded);
        await expect.poll(() => fake.watchers.size).toBe(0);
      });

      test("a client that goes away leaves no watcher", async () => {
        const { fake, client, executionId } = await open();
        const abort = new AbortController();
        const error = await failure(
          collect(client.watchEvents({ executionId }, { signal: abort.signal }), () => {
            expect(fake.watchers.size).toBe(1);
            abort.abort();
          }),
        );
        expect(error.code).toBe(Code.Canceled);
        await expect.poll(() => fake.watchers.size).toBe(0);
      });

      test("a drain ends the stream with RESUME_AFTER and the cursor", async () => {
        const { fake, server, client, executionId } = await open();
        fake.append(executionId, ["a", "b"]);
        let drained: Promise<void> | undefined;
        const error = await failure(
          collect(client.watchEvents({ executionId }), () => {
            drained ??= server.drain();
          }),
        );
        await drained;
        expect(error.code).toBe(Code.Unavailable);
        expect(infoOf(error)).toEqual({ reason: "RESUME_AFTER", metadata: { after_sequence: "3" } });
        const refused = await failure(collect(client.watchEvents({ executionId })));
        expect(infoOf(refused).reason).toBe("SERVER_DRAINING");
        expect((await client.getExecution({ executionId })).execution?.id).toBe(executionId);
      });

      test("a page of events is the stored events", async () => {
        const { fake, client, executionId } = await open();
        fake.append(executionId, ["a", "b", "c"]);
        const page = await client.listEvents({ executionId, afterSequence: 1, pageSize: 2 });
        expect(page.events.map((event) => [event.sequence, event.payload.case])).toEqual([
          [2, "outputTextDelta"],
          [3, "outputTextDelta"],
        ]);
        expect(page).toMatchObject({ nextAfterSequence: 3, headSequence: 4 });
      });
    });
  }
}
