import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ExecutionSchema } from "../gen/ts/harnessruntime/v1/execution_pb.js";
import {
  ExecutionService,
  GetExecutionRequestSchema,
  GetExecutionResponseSchema,
} from "../gen/ts/harnessruntime/v1/execution_service_pb.js";
import { envelope } from "../src/server/event-frames.js";
import { type Line, median, round, thousands } from "./report.js";
import { calling, costing, startBaseline, startLoad, startServerPeer, startStock } from "./rig.js";

const CALLS = 3_000;
const IN_FLIGHT = 64;
const ROUNDS = 5;

/** GetExecution, 64 calls in flight on one connection: of a live execution (from memory) and of a finished one (from SQLite). */
export async function benchUnary(): Promise<readonly Line[]> {
  const server = await startServerPeer();
  const stock = await startStock();
  const baseline = await startBaseline();
  const load = await startLoad();
  const url = await server.call("open", { durable: true });
  const stockUrl = await stock.call("open");
  const baselineUrl = await baseline.call("open");
  const peers = { server, stock, baseline, load, url, stockUrl, baselineUrl };
  const id = await server.call("start", { events: 10, batch: 1, everyMs: 0 });
  const live = await benchBoth("live", id, peers);
  await server.call("go", [id]);
  await server.call("ended", id);
  const finished = await benchBoth("finished", id, peers);
  await Promise.all([server, stock, baseline, load].map((peer) => peer.stop()));
  return [...live, ...finished];
}

interface Peers {
  readonly server: Awaited<ReturnType<typeof startServerPeer>>;
  readonly stock: Awaited<ReturnType<typeof startStock>>;
  readonly baseline: Awaited<ReturnType<typeof startBaseline>>;
  readonly load: Awaited<ReturnType<typeof startLoad>>;
  readonly url: string;
  readonly stockUrl: string;
  readonly baselineUrl: string;
}

async function benchBoth(state: "live" | "finished", id: string, peers: Peers): Promise<readonly Line[]> {
  const { server, stock, baseline, load, url, stockUrl, baselineUrl } = peers;
  const client = createClient(ExecutionService, createGrpcTransport({ baseUrl: url }));
  const { execution: stored = create(ExecutionSchema) } = await client.getExecution({ executionId: id });
  await stock.call("prepareUnary", Buffer.from(toBinary(ExecutionSchema, stored)).toString("base64"));
  const response = envelope(
    toBinary(GetExecutionResponseSchema, create(GetExecutionResponseSchema, { execution: stored })),
  );
  await baseline.call("prepareUnary", Buffer.from(response).toString("base64"));

  const request = toBinary(GetExecutionRequestSchema, create(GetExecutionRequestSchema, { executionId: id }));
  const path = "/harnessruntime.v1.ExecutionService/GetExecution";
  const shared = { connections: 1, streamsEach: 1, calls: CALLS, inFlight: IN_FLIGHT, path };
  const lines: Line[] = [];
  for (const [name, contentType, body] of [
    ["gRPC", "application/grpc", envelope(request)],
    ["Connect", "application/proto", request],
  ] as const) {
    const call = { ...shared, contentType, body: Buffer.from(body).toString("base64") };
    const costs: [number[], number[], number[]] = [[], [], []];
    const rates: number[] = [];
    for (let count = 0; count <= ROUNDS; count++) {
      const ours = await costing(server, () => load.call("unary", { ...call, url }));
      const library = await costing(stock, () => load.call("unary", { ...call, url: stockUrl }));
      const bare = await costing(baseline, () => load.call("unary", { ...call, ...calling(baselineUrl, "Unary") }));
      if (count === 0) continue;
      costs[0].push(ours.cpuUs / CALLS);
      costs[1].push(library.cpuUs / CALLS);
      costs[2].push(bare.cpuUs / CALLS);
      rates.push((CALLS * 1_000) / ours.value);
    }
    const [ours, library, bare] = costs.map(median) as [number, number, number];
    const ratio = ours / library;
    lines.push({
      name: `${state} execution, ${name}`,
      figures: {
        "server CPU us/call": round(ours, 0),
        "stock connect-node": round(library, 0),
        "bare node:http2": round(bare, 0),
        "calls/s": thousands(median(rates)),
        ratio: round(ratio),
      },
      ...(state === "live" && { target: ["<= 1.30 of stock", ratio <= 1.3] as const }),
    });
  }
  return lines;
}
