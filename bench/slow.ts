import { type Line, round, thousands } from "./report.js";
import { startFreeServer, startLoad, watching } from "./rig.js";

const EVENTS = 1_000_000;
const MIB = 1024 * 1024;

/** A reader that never reads while 1,000,000 events pass: what it costs the server, and another reader. */
export async function benchSlow(): Promise<readonly Line[]> {
  const alone = await pass(0);
  const beside = await pass(1);
  const growth = beside.peakMib - alone.peakMib;
  const slowdown = beside.ms / alone.ms;
  return [
    {
      name: "one reader",
      figures: {
        "events/s": thousands((EVENTS * 1_000) / alone.ms),
        "server memory": `${round(alone.peakMib, 1)} MiB`,
      },
    },
    {
      name: "and one that never reads",
      figures: {
        "events/s": thousands((EVENTS * 1_000) / beside.ms),
        "server memory": `${round(beside.peakMib, 1)} MiB`,
      },
    },
    {
      name: "what it costs",
      figures: { memory: `${round(growth, 1)} MiB`, "time ratio": round(slowdown) },
      target: ["< 20 MiB, not slowed (<= 1.15)", growth < 20 && slowdown <= 1.15],
    },
  ];
}

/** Lets the events pass; returns how long the reader took and the memory in use after them. */
async function pass(stuckReaders: number): Promise<{ readonly ms: number; readonly peakMib: number }> {
  const server = await startFreeServer();
  const stuck = await startLoad();
  const reader = await startLoad();
  const url = await server.call("open", { durable: true });
  const id = await server.call("start", { events: EVENTS, batch: 100, everyMs: 0 });
  if (stuckReaders > 0) await stuck.call("open", { ...watching(url, id), streamsEach: stuckReaders, reads: false });
  await reader.call("open", watching(url, id));
  const began = performance.now();
  await server.call("go", [id]);
  await reader.call("ended");
  const ms = performance.now() - began;
  const { heapUsed, external } = await server.memory();
  await Promise.all([server, stuck, reader].map((peer) => peer.stop()));
  return { ms, peakMib: (heapUsed + external) / MIB };
}
