import { type Line, round, thousands } from "./report.js";
import { calling, startBaseline, startLoad, startServerPeer, watching } from "./rig.js";

const SCENES = [
  { connections: 1_000, streamsEach: 1, targetKb: undefined },
  { connections: 5_000, streamsEach: 1, targetKb: 80 },
  { connections: 50, streamsEach: 100, targetKb: 60 },
] as const;

/** What a watcher of a quiet execution keeps of the server's memory. */
export async function benchIdle(): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const { connections, streamsEach, targetKb } of SCENES) {
    const server = await startServerPeer();
    const url = await server.call("open", { durable: false });
    const id = await server.call("start", { events: 1, batch: 1, everyMs: 0 });
    const ours = await grown(server, { ...watching(url, id), connections, streamsEach });
    await server.stop();
    const baseline = await startBaseline();
    const baselineUrl = await baseline.call("open");
    const bare = await grown(baseline, { ...calling(baselineUrl, "Wait"), connections, streamsEach });
    await baseline.stop();
    lines.push({
      name: `idle, ${thousands(connections)} connections x ${streamsEach}`,
      figures: { "kB/watcher": round(ours, 1), "bare node:http2": round(bare, 1), ratio: round(ours / bare) },
      ...(targetKb !== undefined && { target: [`<= ${targetKb} kB`, ours <= targetKb] as const }),
    });
  }
  return lines;
}

/** How much resident memory each stream adds, in kB. */
async function grown(
  peer: Pick<Awaited<ReturnType<typeof startServerPeer>>, "memory">,
  opening: ReturnType<typeof watching>,
): Promise<number> {
  const load = await startLoad();
  // Warms up, so that code and pools are not counted.
  await load.call("open", { ...opening, connections: 20, streamsEach: Math.min(opening.streamsEach, 20) });
  await load.call("close");
  const before = await peer.memory();
  await load.call("open", opening);
  const after = await peer.memory();
  await load.stop();
  return (after.rss - before.rss) / 1_024 / (opening.connections * opening.streamsEach);
}
