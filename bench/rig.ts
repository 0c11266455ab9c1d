import { create, toBinary } from "@bufbuild/protobuf";
import { WatchEventsRequestSchema } from "../gen/ts/harnessruntime/v1/event_stream_pb.js";
import { envelope } from "../src/server/event-frames.js";
import { type Commands, type Peer, startPeer } from "./peer.js";
import type { Opening } from "./roles/load.js";
import type { Emission } from "./roles/server.js";

/** What each role can be told. */
export type ServerCommands = {
  open(settings: { durable: boolean; sideDoor?: boolean }): Promise<string>;
  start(emission: Emission): Promise<string>;
  go(ids: readonly string[]): void;
  ended(id: string): Promise<number>;
};
export type BaselineCommands = {
  open(): Promise<string>;
  prepareReplay(settings: { events: number; batch: number }): void;
  prepareUnary(base64: string): void;
  broadcast(settings: { events: number; batch: number; everyMs: number }): Promise<void>;
};
export type StockCommands = Omit<BaselineCommands, "broadcast">;
export type LoadCommands = {
  open(opening: Opening): Promise<void>;
  ended(): Promise<{ bytes: number; agesMs: readonly number[] }>;
  readOnce(opening: Opening): Promise<{ bytes: number; ms: number }>;
  unary(opening: Opening & { calls: number; inFlight: number }): Promise<number>;
  close(): void;
};

const SERVER_CORE = 0;
const LOAD_CORE = 1;

export const startServerPeer = (): Promise<Peer<ServerCommands>> => startPeer("server", SERVER_CORE);
export const startBaseline = (): Promise<Peer<BaselineCommands>> => startPeer("baseline", SERVER_CORE);
export const startStock = (): Promise<Peer<StockCommands>> => startPeer("stock", SERVER_CORE);
export const startLoad = (): Promise<Peer<LoadCommands>> => startPeer("load", LOAD_CORE);
/** The server where its threads are to have all cores. */
export const startFreeServer = (): Promise<Peer<ServerCommands>> => startPeer("server");

/** How one stream watches an execution. */
export function watching(url: string, executionId: string, afterSequence = 0): Opening {
  const request = create(WatchEventsRequestSchema, { executionId, afterSequence });
  return {
    url,
    path: "/harnessruntime.v1.ExecutionService/WatchEvents",
    body: Buffer.from(envelope(toBinary(WatchEventsRequestSchema, request))).toString("base64"),
    connections: 1,
    streamsEach: 1,
  };
}

/** A call of the baseline, which looks at the path alone. */
export function calling(url: string, path: "Replay" | "Unary" | "Wait"): Opening {
  return { url, path: `/${path}`, body: Buffer.alloc(5).toString("base64"), connections: 1, streamsEach: 1 };
}

/** Runs `work` and returns what a peer's CPU did meanwhile, in microseconds, and how long it took. */
export async function costing<C extends Commands, T>(
  peer: Peer<C>,
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly cpuUs: number; readonly ms: number }> {
  const [before, began] = [await peer.cpu(), performance.now()];
  const value = await work();
  const ms = performance.now() - began;
  return { value, cpuUs: (await peer.cpu()) - before, ms };
}
