import { type Line, median, round, thousands } from "./report.js";
import { calling, costing, startBaseline, startLoad, startServerPeer, watching } from "./rig.js";

interface Scene {
  readonly watchers: number;
  readonly events: number;
  readonly batch: number;
  readonly everyMs: number;
}

const SCENES: readonly Scene[] = [
  { watchers: 100, events: 400, batch: 1, everyMs: 10 },
  { watchers: 100, events: 6_400, batch: 16, everyMs: 10 },
  { watchers: 1_000, events: 60, batch: 1, everyMs: 50 },
  { watchers: 1_000, events: 960, batch: 16, everyMs: 50 },
];
const ROUNDS = 3;
const STREAMS_EACH = 100;

/** Many watch one live execution: what each delivery costs the server. */
export async function benchFanout(): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const scene of SCENES) lines.push(await benchScene(scene));
  return lines;
}

async function benchScene({ watchers, events, batch, everyMs }: Scene): Promise<Line> {
  const server = await startServerPeer();
  const baseline = await startBaseline();
  const load = await startLoad();
  const url = await server.call("open", { durable: false });
  const baselineUrl = await baseline.call("open");
  const many = { connections: watchers / STREAMS_EACH, streamsEach: STREAMS_EACH };
  const deliveries = watchers * events;
  const costs: [number[], number[]] = [[], []];
  for (let count = 0; count <= ROUNDS; count++) {
    const id = await server.call("start", { events, batch, everyMs });
    await load.call("open", { ...watching(url, id), ...many });
    const ours = await costing(server, async () => {
      await server.call("go", [id]);
      return load.call("ended");
    });
    await load.call("close");
    await load.call("open", { ...calling(baselineUrl, "Wait"), ...many });
    const bare = await costing(baseline, async () => {
      await baseline.call("broadcast", { events, batch, everyMs });
      return load.call("ended");
    });
    await load.call("close");
    if (count === 0) continue;
    costs[0].push(ours.cpuUs / deliveries);
    costs[1].push(bare.cpuUs / deliveries);
  }
  await Promise.all([server, baseline, load].map((peer) => peer.stop()));
  const [ours, bare] = costs.map(median) as [number, number];
  return {
    name: `${thousands(watchers)} watchers, ${batch === 1 ? "one at a time" : `${batch} at a time`}`,
    figures: { "server CPU us/delivery": round(ours), bare: round(bare), ratio: round(ours / bare) },
    ...(watchers === 1_000 && { target: ["<= 2.00", ours / bare <= 2] as const }),
  };
}
