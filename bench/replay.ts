import { type Line, median, round, thousands } from "./report.js";
import { calling, costing, startBaseline, startLoad, startServerPeer, startStock, watching } from "./rig.js";

const EVENTS = 100_000;
const ROUNDS = 5;
/** Events in one frame of the baseline, about as many as the server sends. */
const BASELINE_BATCH = 5_000;

/** One reader replays 100,000 stored events of about 200 bytes. */
export async function benchReplay(): Promise<readonly Line[]> {
  const server = await startServerPeer();
  const baseline = await startBaseline();
  const stock = await startStock();
  const load = await startLoad();
  const url = await server.call("open", { durable: true });
  const id = await server.call("start", { events: EVENTS, batch: 1_000, everyMs: 0 });
  await server.call("go", [id]);
  await server.call("ended", id);
  const baselineUrl = await baseline.call("open");
  await baseline.call("prepareReplay", { events: EVENTS, batch: BASELINE_BATCH });
  const stockUrl = await stock.call("open");

  const rates: Record<string, number[]> = { server: [], baseline: [], stock: [], batched: [] };
  const cpus: Record<string, number[]> = { server: [], baseline: [], stock: [], batched: [] };
  const note = (name: string, ms: number, cpuUs: number): void => {
    rates[name]?.push((EVENTS * 1_000) / ms);
    cpus[name]?.push(cpuUs / EVENTS);
  };
  for (let round = 0; round <= ROUNDS; round++) {
    const ours = await costing(server, () => load.call("readOnce", watching(url, id)));
    const bare = await costing(baseline, () => load.call("readOnce", calling(baselineUrl, "Replay")));
    // The first round warms up.
    if (round > 0) note("server", ours.value.ms, ours.cpuUs);
    if (round > 0) note("baseline", bare.value.ms, bare.cpuUs);
    for (const [name, batch] of [
      ["stock", 1],
      ["batched", 100],
    ] as const) {
      await stock.call("prepareReplay", { events: EVENTS, batch });
      const library = await costing(stock, () => load.call("readOnce", watching(stockUrl, id)));
      if (round > 0) note(name, library.value.ms, library.cpuUs);
    }
  }
  await Promise.all([server, baseline, stock, load].map((peer) => peer.stop()));

  const rate = (name: string): number => median(rates[name] ?? []);
  const line = (name: string, title: string): Line => ({
    name: title,
    figures: { "events/s": thousands(rate(name)), "server CPU us/event": round(median(cpus[name] ?? [])) },
  });
  const toBaseline = rate("server") / rate("baseline");
  const toStock = rate("server") / rate("stock");
  return [
    line("server", "replay 100,000 (SQLite)"),
    line("baseline", "  bare node:http2, same bytes"),
    line("stock", "  stock connect-node, one a message"),
    line("batched", "  stock connect-node, 100 a message"),
    { name: "server / bare", figures: { ratio: round(toBaseline) }, target: [">= 0.60", toBaseline >= 0.6] },
    { name: "server / stock", figures: { ratio: round(toStock, 1) }, target: [">= 8", toStock >= 8] },
  ];
}
