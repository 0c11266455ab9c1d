// The RPC library as its documentation has it: a handler that yields messages.
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { create, fromBinary } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { WatchEventsResponseSchema } from "../../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { type Execution, ExecutionSchema, ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import { ExecutionService } from "../../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { eventOf } from "../events.js";
import { play } from "../peer.js";

let events = 0;
let batch = 1;
let execution: Execution = create(ExecutionSchema);

play({
  async open() {
    const handler = connectNodeAdapter({
      routes: (router) =>
        router.service(ExecutionService, {
          async *watchEvents() {
            for (let first = 1; first <= events; first += batch) {
              const page = Array.from({ length: Math.min(batch, events - first + 1) }, (_, index) =>
                eventOf(first + index),
              );
              yield create(WatchEventsResponseSchema, {
                events: page,
                nextAfterSequence: first + page.length - 1,
                headSequence: events,
                state: ExecutionState.RUNNING,
              });
            }
          },
          getExecution: () => ({ execution }),
        }),
    });
    const server = http2.createServer(handler);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  prepareReplay(settings: { events: number; batch: number }): void {
    ({ events, batch } = settings);
  },
  prepareUnary(base64: string): void {
    execution = fromBinary(ExecutionSchema, Buffer.from(base64, "base64"));
  },
});
