import { type Line, median, round, thousands } from "./report.js";
import { calling, costing, startBaseline, startLoad, startServerPeer, startStock, watching } from "./rig.js";

const EVENTS = 100_000;
const ROUNDS = 5;
/** Events in one frame of the baseline, about as many as the server sends. */
const BASELINE_BATCH = 5_000;

/** One reader replays 100,000 stored events of about 200 bytes: from memory, which shows the server, and from SQLite. */
export async function benchReplay(): Promise<readonly Line[]> {
  const baseline = await startBaseline();
  const stock = await startStock();
  const load = await startLoad();
  const memory = await startLog(false);
  const sqlite = await startLog(true);
  const baselineUrl = await baseline.call("open");
  await baseline.call("prepareReplay", { events: EVENTS, batch: BASELINE_BATCH });
  const stockUrl = await stock.call("open");

  const measures = {
    memory: () => costing(memory.peer, () => load.call("readOnce", watching(memory.url, memory.id))),
    sqlite: () => costing(sqlite.peer, () => load.call("readOnce", watching(sqlite.url, sqlite.id))),
    bare: () => costing(baseline, () => load.call("readOnce", calling(baselineUrl, "Replay"))),
    stock: () => readStock(1),
    batched: () => readStock(100),
  };
  const readStock = async (batch: number) => {
    await stock.call("prepareReplay", { events: EVENTS, batch });
    return costing(stock, () => load.call("readOnce", watching(stockUrl, "any")));
  };
  const names = Object.keys(measures) as (keyof typeof measures)[];
  const samples = new Map(names.map((name) => [name, [] as Awaited<ReturnType<typeof readStock>>[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of names) {
      const sample = await measures[name]();
      // The first round warms up.
      if (round > 0) samples.get(name)?.push(sample);
    }
  }
  await Promise.all([memory.peer, sqlite.peer, baseline, stock, load].map((peer) => peer.stop()));

  const rate = (name: keyof typeof measures): number =>
    median((samples.get(name) ?? []).map(({ value }) => (EVENTS * 1_000) / value.ms));
  const line = (name: keyof typeof measures, title: string): Line => ({
    name: title,
    figures: {
      "events/s": thousands(rate(name)),
      "server CPU us/event": round(median((samples.get(name) ?? []).map(({ cpuUs }) => cpuUs / EVENTS))),
    },
  });
  const ratio = (name: string, value: number, floor: number): Line => ({
    name,
    figures: { ratio: round(value) },
    target: [`>= ${floor}`, value >= floor],
  });
  return [
    line("memory", "replay 100,000 from memory"),
    line("sqlite", "replay 100,000 from SQLite"),
    line("bare", "  bare node:http2, same bytes"),
    line("stock", "  stock connect-node, one a message"),
    line("batched", "  stock connect-node, 100 a message"),
    ratio("memory / bare", rate("memory") / rate("bare"), 0.6),
    ratio("SQLite / bare", rate("sqlite") / rate("bare"), 0.6),
    ratio("SQLite / stock", rate("sqlite") / rate("stock"), 8),
  ];
}

/** A server with one finished execution to replay. */
async function startLog(durable: boolean) {
  const peer = await startServerPeer();
  const url = await peer.call("open", { durable });
  const id = await peer.call("start", { events: EVENTS, batch: 1_000, everyMs: 0 });
  await peer.call("go", [id]);
  await peer.call("ended", id);
  return { peer, url, id };
}
